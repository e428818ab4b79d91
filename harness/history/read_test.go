package history

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sample is a small history as its recorders write it, one line an element.
var sample = []string{
	`{"t":"header","time":1,"header":{"schema":"torture/history/1","run":"x","strategy":"setnx","fault":"none","locker":"redis-setnx","guard":"plain","lease_by":"redis","tokens":false,"ttl":1000000000,"resources":["r00","r01"],"workers":["w1"],"seed":7}}`,
	`{"t":"worker","time":2,"worker":"w1","status":"started","pid":17}`,
	`{"t":"invoke","time":10,"op":"w1-1","process":"w1/r00#1","worker":"w1","client":"w1/r00","resource":"r00","kind":"acquire"}`,
	`{"t":"complete","time":12,"op":"w1-1","outcome":"ok","grant":"w1-1","lease_call":9,"lease_ttl":1000000000}`,
	`{"t":"invoke","time":20,"op":"w1-2","process":"w1/r00#1","worker":"w1","client":"w1/r00","resource":"r00","kind":"read","grant":"w1-1"}`,
	`{"t":"complete","time":22,"op":"w1-2","outcome":"ok","write_id":"init","version":3}`,
	`{"t":"invoke","time":30,"op":"w1-3","process":"w1/r00#1","worker":"w1","client":"w1/r00","resource":"r00","kind":"write","grant":"w1-1","write_id":"w1-3","basis":"init"}`,
	`{"t":"complete","time":32,"op":"w1-3","outcome":"info","error":"connection reset"}`,
	`{"t":"invoke","time":40,"op":"obs-1","process":"observer","kind":"read"}`,
	`{"t":"complete","time":42,"op":"obs-1","outcome":"ok","seen":{"r01":"init","r00":"w1-3"}}`,
	`{"t":"invoke","time":43,"op":"obs-2","process":"observer","kind":"read"}`,
	`{"t":"complete","time":44,"op":"obs-2","outcome":"fail","error":"refused"}`,
	`{"t":"fault","time":50,"fault":{"id":"f1","kind":"pause-holder","phase":"stopped","victim":"w1"}}`,
	`{"t":"clock","time":60,"offset":1700000000000000000}`,
}

func parse(lines ...string) (*History, error) {
	return Parse(strings.NewReader(strings.Join(lines, "\n")+"\n"), "h.jsonl")
}

func TestParse(t *testing.T) {
	h, err := parse(sample...)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Validate(); err != nil {
		t.Fatal(err)
	}
	if h.Header.Seed != 7 || h.Header.Locker != "redis-setnx" || len(h.Faults) != 1 || h.Faults[0].Line != 13 || len(h.Events) != 2 || len(h.Warnings) != 0 {
		t.Errorf("header %+v, faults %+v, events %+v, warnings %q", h.Header, h.Faults, h.Events, h.Warnings)
	}
	want := []Operation{
		{ID: "w1-1", Process: "w1/r00#1", Worker: "w1", Client: "w1/r00", Resource: "r00", Kind: Acquire, Call: 10, Return: 12, Completed: 12, Outcome: OK, Grant: "w1-1", LeaseCall: 9, LeaseTTL: 1000000000, Line: 3, End: 4},
		{ID: "w1-2", Process: "w1/r00#1", Worker: "w1", Client: "w1/r00", Resource: "r00", Kind: Read, Call: 20, Return: 22, Completed: 22, Outcome: OK, Grant: "w1-1", WriteID: "init", Version: 3, Line: 5, End: 6},
		{ID: "w1-3", Process: "w1/r00#1", Worker: "w1", Client: "w1/r00", Resource: "r00", Kind: Write, Call: 30, Return: Never, Completed: 32, Outcome: Info, Grant: "w1-1", WriteID: "w1-3", Basis: "init", Error: "connection reset", Line: 7, End: 8},
		{ID: "obs-1/r00", Process: "observer/r00", Client: "observer/r00", Resource: "r00", Kind: Read, Call: 40, Return: 42, Completed: 42, Outcome: OK, WriteID: "w1-3", Line: 9, End: 10},
		{ID: "obs-1/r01", Process: "observer/r01", Client: "observer/r01", Resource: "r01", Kind: Read, Call: 40, Return: 42, Completed: 42, Outcome: OK, WriteID: "init", Line: 9, End: 10},
	}
	if len(h.Operations) != len(want) {
		t.Fatalf("%d operations, want %d: %+v", len(h.Operations), len(want), h.Operations)
	}
	for i := range want {
		if h.Operations[i] != want[i] {
			t.Errorf("operation %d:\ngot  %+v\nwant %+v", i, h.Operations[i], want[i])
		}
	}
	if parts := h.ByResource(); len(parts) != 2 || len(parts["r00"]) != 4 || len(parts["r01"]) != 1 {
		t.Errorf("by resource: %v", parts)
	}
}

// TestParseDamage: each kind of damage is reported with its line, and what to
// do about it.
func TestParseDamage(t *testing.T) {
	with := func(n int, line string) []string { // line n, from 1, replaced
		out := append([]string{}, sample...)
		out[n-1] = line
		return out
	}
	without := func(n int) []string { return append(append([]string{}, sample[:n-1]...), sample[n:]...) }
	sub := func(n int, old, new string) []string {
		if !strings.Contains(sample[n-1], old) {
			t.Fatalf("line %d has no %s", n, old)
		}
		return with(n, strings.Replace(sample[n-1], old, new, 1))
	}
	for _, c := range []struct {
		name  string
		lines []string
		line  int
		what  string
	}{
		{"no JSON in the middle", with(5, `{"t":"invoke","ti`), 5, "not JSON"},
		{"an empty line in the middle", with(5, ``), 5, "not JSON"},
		{"zeros in the middle", with(5, strings.Repeat("\x00", 100)), 5, "not JSON"},
		{"JSON, but no object", with(5, `17`), 5, "not an event"},
		{"a field of another type", sub(5, `"time":20`, `"time":"20"`), 5, "not an event"},
		{"a line too long", with(2, `{"t":"note","note":"`+strings.Repeat("x", maxReadLine)+`"}`), 2, "longer than"},
		{"no header", without(1), 1, "not a header"},
		{"header without content", with(1, `{"t":"header","time":1}`), 1, "not a header"},
		{"a second header", with(2, sample[0]), 2, "second header"},
		{"another schema", sub(1, "history/1", "history/9"), 1, `unknown schema "torture/history/9"`},
		{"unknown type of line", sub(2, `"worker"`, `"weather"`), 2, `unknown type of line "weather"`},
		{"unknown kind", sub(5, `"kind":"read"`, `"kind":"peek"`), 5, `unknown kind "peek"`},
		{"unknown outcome", sub(6, `"ok"`, `"fine"`), 6, `unknown outcome "fine"`},
		{"no outcome", sub(6, `"outcome":"ok",`, ``), 6, "without an outcome"},
		{"a read is rejected", sub(6, `"ok"`, `"rejected"`), 6, `"rejected" does not fit a read`},
		{"a write is lost", sub(8, `"info"`, `"lost"`), 8, `"lost" does not fit a write`},
		{"invoke without op", sub(5, `"op":"w1-2",`, ``), 5, "has no op"},
		{"invoke without time", sub(5, `"time":20,`, ``), 5, "has no time"},
		{"invoke without process", sub(5, `"process":"w1/r00#1",`, ``), 5, "has no process"},
		{"invoke without kind", sub(5, `"kind":"read",`, ``), 5, "has no kind"},
		{"invoke without resource", sub(3, `"resource":"r00",`, ``), 3, "has no resource"},
		{"write without id", sub(7, `"write_id":"w1-3",`, ``), 7, "has no write_id"},
		{"write without basis", sub(7, `,"basis":"init"`, ``), 7, "has no basis"},
		{"completion without time", sub(6, `"time":22,`, ``), 6, "has no time"},
		{"completion without invocation", without(5), 5, "without its invocation"},
		{"completed twice", with(9, sample[5]), 9, "completed twice"},
		{"invoked twice while open", with(6, sample[4]), 6, "invoked before, in line 5"},
		{"invoked again", with(9, sample[4]), 9, "invoked before, in line 5"},
		{"completion of another kind", sub(6, `"op":"w1-2",`, `"op":"w1-2","kind":"write",`), 6, `says kind "write"`},
		{"completion by another process", sub(6, `"op":"w1-2",`, `"op":"w1-2","process":"w2/r00#1",`), 6, `says process "w2/r00#1"`},
		{"completion of another write", sub(8, `"op":"w1-3",`, `"op":"w1-3","write_id":"w1-9",`), 8, `says write_id "w1-9"`},
		{"read without an id", sub(6, `"write_id":"init",`, ``), 6, "no write_id"},
		{"a grant with another id", sub(4, `"grant":"w1-1"`, `"grant":"w1-7"`), 4, "the id of its acquire"},
		{"observer saw nothing", sub(10, `,"seen":{"r01":"init","r00":"w1-3"}`, ``), 10, "has no seen"},
		{"observer saw an empty row", sub(10, `"r01":"init"`, `"r01":""`), 10, `seen nothing in "r01"`},
		{"one resource, several seen", sub(6, `"write_id":"init",`, `"write_id":"init","seen":{"r01":"init"},`), 6, "has seen several"},
		{"fault without id", sub(13, `"id":"f1",`, ``), 13, "without id"},
		{"fault without phase", sub(13, `"phase":"stopped",`, ``), 13, "phase"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(c.lines...)
			expectDamage(t, err, c.line, c.what)
		})
	}
	_, err := Parse(strings.NewReader(""), "h.jsonl")
	expectDamage(t, err, 1, "no header")
}

func expectDamage(t *testing.T, err error, line int, what string) {
	t.Helper()
	var d *Damage
	if !errors.As(err, &d) {
		t.Fatalf("%v, want damage with %q", err, what)
	}
	if d.Line != line || !strings.Contains(d.What, what) || d.Fix == "" || d.File != "h.jsonl" {
		t.Errorf("%#v, want line %d with %q, and what to do", d, line, what)
	}
	if strings.Contains(d.Error(), "\n") || !strings.HasPrefix(d.Error(), "h.jsonl:") {
		t.Errorf("not one line with its place: %q", d.Error())
	}
}

// TestParseTornEnd: what a writer that died leaves behind is left out, and said.
func TestParseTornEnd(t *testing.T) {
	whole := strings.Join(sample, "\n")
	for _, c := range []struct {
		name, text string
		events     int
		warning    string
	}{
		{"whole", whole + "\n", 2, ""},
		{"no newline, content whole", whole, 2, "h.jsonl:14: the last line has no end"},
		{"half a line", whole[:len(whole)-20], 1, "h.jsonl:14: the last line is torn"},
		{"half a line and a newline", whole[:len(whole)-20] + "\n", 1, "h.jsonl:14: the last line is torn"},
	} {
		h, err := Parse(strings.NewReader(c.text), "h.jsonl")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if len(h.Events) != c.events || (c.warning == "") != (len(h.Warnings) == 0) || c.warning != "" && !strings.HasPrefix(h.Warnings[0], c.warning) {
			t.Errorf("%s: %d events, warnings %q, want %d and %q", c.name, len(h.Events), h.Warnings, c.events, c.warning)
		}
	}
}

// TestParseUnknownFields: a newer recorder may say more.
func TestParseUnknownFields(t *testing.T) {
	lines := append([]string{}, sample...)
	lines[1] = `{"t":"worker","time":2,"worker":"w1","status":"started","pid":17,"mood":"good"}`
	if _, err := parse(lines...); err != nil {
		t.Error(err)
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.jsonl")
	if _, err := ReadFile(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	r, err := NewRecorder(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []Event{
		{Type: TypeHeader, Time: 1, Header: &Header{Schema: Schema}},
		{Type: TypeInvoke, Time: 2, Op: "a", Process: "p", Resource: "r00", Kind: Read},
		{Type: TypeComplete, Time: 3, Op: "a", Outcome: Fail, Error: strings.Repeat("x", 2*MaxLine)},
	} {
		if err := r.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	h, err := ReadFile(path)
	if err != nil || len(h.Operations) != 1 || len(h.Operations[0].Error) > MaxLine {
		t.Errorf("%+v, %v", h, err)
	}
}
