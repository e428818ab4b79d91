package history

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func part(t *testing.T, name string, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func invoked(worker, op string, time string) string {
	return `{"t":"invoke","time":` + time + `,"op":"` + op + `","process":"` + worker + `/r00#1","worker":"` + worker + `","client":"` + worker + `/r00","resource":"r00","kind":"read"}`
}

func TestMerge(t *testing.T) {
	w1 := part(t, "w1.jsonl", invoked("w1", "w1-1", "10"), `{"t":"complete","time":30,"op":"w1-1","outcome":"ok","write_id":"init","extra":1}`, invoked("w1", "w1-2", "40"), `{"t":"complete","time":44,"op"`)
	w2 := part(t, "w2.jsonl", invoked("w2", "w2-1", "20"), `{"t":"complete","time":20,"op":"w2-1","outcome":"fail"}`, "")
	control := part(t, "control.jsonl", `{"t":"worker","time":5,"worker":"w1","status":"started"}`, `{"t":"worker","time":50,"worker":"w1","status":"killed"}`, "")
	var out bytes.Buffer
	warnings, err := Merge(&out, Header{Strategy: "setnx"}, w1, w2, control)
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "w1.jsonl:4: the last line is torn") {
		t.Errorf("warnings %q", warnings)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := []string{
		`{"t":"header","time":5,`, `{"t":"worker","time":5,`, `{"t":"invoke","time":10,"op":"w1-1"`, `{"t":"invoke","time":20,"op":"w2-1"`, `{"t":"complete","time":20,"op":"w2-1"`,
		`{"t":"complete","time":30,"op":"w1-1","outcome":"ok","write_id":"init","extra":1}`, `{"t":"invoke","time":40,"op":"w1-2"`,
		`{"t":"worker","time":50,`, `{"t":"complete","time":50,"op":"w1-2","outcome":"info","error":"worker was killed"}`,
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), out.String())
	}
	for i := range want {
		if !strings.HasPrefix(lines[i], want[i]) {
			t.Errorf("line %d is %s, want %s", i+1, lines[i], want[i])
		}
	}
	h, err := Parse(&out, "h.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if h.Header.Schema != Schema || h.Operations[2].Outcome != Info || h.Operations[2].Return != Never {
		t.Errorf("header %+v, operations %+v", h.Header, h.Operations)
	}
}

// TestMergeLeavesOpen: only a kill closes what a worker began.
func TestMergeLeavesOpen(t *testing.T) {
	for status, open := range map[string]bool{"killed": false, "exited": true} {
		w1 := part(t, "w1.jsonl", invoked("w1", "w1-1", "10"), "")
		w2 := part(t, "w2.jsonl", invoked("w2", "w2-1", "10"), `{"t":"complete","time":12,"op":"w2-1","outcome":"fail"}`, "")
		control := part(t, "control.jsonl", `{"t":"worker","time":50,"worker":"w1","status":"`+status+`"}`, "")
		var out bytes.Buffer
		if _, err := Merge(&out, Header{}, w1, w2, control); err != nil {
			t.Fatal(err)
		}
		h, err := Parse(&out, "h.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		if open {
			expectDamage(t, h.Validate(), 2, `"w1-1" was never completed`)
		} else if err := h.Validate(); err != nil {
			t.Errorf("%s: %v", status, err)
		}
	}
}

// TestMergeKilledBeforeItsLastLine: the kill's stamp may be earlier than that of
// a line the worker still wrote.
func TestMergeKilledBeforeItsLastLine(t *testing.T) {
	w1 := part(t, "w1.jsonl", invoked("w1", "w1-1", "51"), "")
	control := part(t, "control.jsonl", `{"t":"worker","time":50,"worker":"w1","status":"killed"}`, "")
	var out bytes.Buffer
	if _, err := Merge(&out, Header{}, w1, control); err != nil {
		t.Fatal(err)
	}
	h, err := Parse(&out, "h.jsonl")
	if err != nil || h.Validate() != nil || h.Operations[0].Outcome != Info {
		t.Errorf("%v, %v", err, h)
	}
}

func TestMergeDamage(t *testing.T) {
	broken := part(t, "w1.jsonl", `{"t":"note","time":1}`, `{"t":"no`, `{"t":"note","time":3}`, "")
	var d *Damage
	if _, err := Merge(&bytes.Buffer{}, Header{}, broken); !errors.As(err, &d) || d.Line != 2 || d.File != broken {
		t.Errorf("%v", err)
	}
	if _, err := Merge(&bytes.Buffer{}, Header{}, broken+".missing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	whole := part(t, "w1.jsonl", `{"t":"note","time":1}`, "")
	if _, err := Merge(fullDisk{}, Header{}, whole); err == nil {
		t.Error("a full disk is not noticed")
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }
