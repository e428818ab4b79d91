package sequential

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/foreign"
)

// script makes a history of lines "process type f value", in JSON lines; value
// may be left out.
func script(t testing.TB, m *Model, lines ...string) *foreign.History {
	t.Helper()
	var text strings.Builder
	for _, line := range lines {
		f := strings.SplitN(line, " ", 5)
		value := ""
		if len(f) > 3 && f[3] != "" {
			value = `,"value":` + f[3]
		}
		if len(f) > 4 {
			value += `,"key":"` + f[4] + `"`
		}
		fmt.Fprintf(&text, `{"process":%s,"type":%q,"f":%q%s}`+"\n", f[0], f[1], f[2], value)
	}
	h, err := foreign.Read(strings.NewReader(text.String()), "script", foreign.JSONL, m.Payloads)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// whole is an operation that nothing overlaps.
func whole(op string) []string {
	f := strings.SplitN(op, " ", 2)
	return []string{f[0] + " invoke " + f[1], f[0] + " ok " + f[1]}
}

func sequence(ops ...string) (lines []string) {
	for _, op := range ops {
		lines = append(lines, whole(op)...)
	}
	return lines
}

func TestModels(t *testing.T) {
	join := func(parts ...[]string) (out []string) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	one := func(line string) []string { return []string{line} }
	for _, test := range []struct {
		name     string
		model    *Model
		lines    []string
		good     bool
		culprits string // lines of the culprits, if bad
	}{
		{"read what was written", &register, sequence("0 write 1", "1 read 1"), true, ""},
		{"read what was overwritten", &register, sequence("0 write 1", "0 write 2", "1 read 1"), false, "1-2 3-4 5-6"},
		{"read what nobody wrote", &register, sequence("0 write 1", "1 read 7"), false, "3-4"},
		{"read before the write", &register, sequence("1 read 1", "0 write 1"), false, "1-2"},
		{"a read of null observes nothing", &register, sequence("0 write 1", "1 read null", "1 read 1"), true, ""},
		{"values repeat", &register, sequence("0 write 1", "0 write 2", "0 write 1", "1 read 1"), true, ""},
		{"values repeat, stale", &register, sequence("0 write 1", "0 write 2", "0 write 1", "0 write 3", "1 read 1"), false, "1-2 5-6 7-8 9-10"},
		{"new then old", &register, join(one("0 invoke write 1"), sequence("1 write 2"), one("2 invoke read"), one("3 invoke read"), one("2 ok read 1"), sequence("4 read 2"), sequence("4 read 1")), false, ""},
		{"concurrent with the write", &register, join(one("0 invoke write 1"), sequence("1 read 1"), one("0 ok write 1")), true, ""},
		{"unknown, never seen", &register, join(one("0 invoke write 1"), one("0 info write"), sequence("1 write 2", "2 read 2")), true, ""},
		{"unknown, seen late", &register, join(one("0 invoke write 1"), one("0 info write"), sequence("1 write 2", "2 read 2", "2 read 1")), true, ""},
		{"unknown, seen twice", &register, join(one("0 invoke write 1"), one("0 info write"), sequence("2 read 1", "1 write 2", "2 read 2", "2 read 1")), false, ""},
		{"failed, but seen", &register, join(one("0 invoke write 1"), one("0 fail write"), sequence("2 read 1")), false, "3-4"},
		{"an open read", &register, join(one("0 invoke read 9"), sequence("1 write 1", "1 read 1")), true, ""},

		{"cas on the value", &casRegister, sequence("0 write 1", "0 cas [1,2]", "1 read 2"), true, ""},
		{"cas on another", &casRegister, sequence("0 write 1", "0 cas [3,2]"), false, "3-4"},
		{"cas on nothing written", &casRegister, sequence("0 cas [null,2]", "1 read 2"), true, ""},
		{"cas on nothing, late", &casRegister, sequence("0 write 1", "0 cas [null,2]"), false, ""},
		{"two cas on one value", &casRegister, sequence("0 write 1", "0 cas [1,2]", "0 cas [1,3]"), false, "3-4 5-6"},
		{"two cas on one value that came back", &casRegister, sequence("0 write 1", "0 cas [1,2]", "0 write 1", "0 cas [1,3]"), true, ""},
		{"a failed cas is not used", &casRegister, join(sequence("0 write 1"), one("0 invoke cas [1,2]"), one("0 fail cas [1,2]"), sequence("0 read 1")), true, ""},
		{"an unknown cas, seen", &casRegister, join(sequence("0 write 1"), one("1 invoke cas [1,2]"), one("1 info cas"), sequence("0 read 2")), true, ""},
		{"an unknown cas that could not", &casRegister, join(sequence("0 write 1"), one("1 invoke cas [4,2]"), one("1 info cas"), sequence("0 read 2")), false, ""},
		{"a chain against time", &casRegister, join(sequence("0 write 1"), one("1 invoke cas [1,2]"), sequence("2 cas [2,3]", "3 read 1"), one("1 ok cas [1,2]")), false, ""},
		{"a ring", &casRegister, join(one("1 invoke cas [1,2]"), one("2 invoke cas [2,1]"), one("1 ok cas [1,2]"), one("2 ok cas [2,1]")), false, "1-3"},

		{"in turn", &mutex, sequence("0 acquire", "0 release", "1 acquire", "1 release"), true, ""},
		{"held twice", &mutex, sequence("0 acquire", "1 acquire"), false, "1-2 3-4"},
		{"released by another", &mutex, sequence("0 acquire", "1 release", "1 acquire"), true, ""},
		{"released while free", &mutex, sequence("0 release"), false, "1-2"},
		{"an unknown release", &mutex, join(sequence("0 acquire"), one("0 invoke release"), one("0 info release"), sequence("1 acquire")), true, ""},
		{"an unknown release helps once", &mutex, join(sequence("0 acquire"), one("0 invoke release"), one("0 info release"), sequence("1 acquire", "2 acquire")), false, ""},
		{"an unknown acquisition", &mutex, join(one("0 invoke acquire"), one("0 info acquire"), sequence("1 acquire", "1 release", "1 release")), true, ""},
		{"a failed acquisition", &mutex, join(sequence("0 acquire"), one("1 invoke acquire"), one("1 fail acquire"), sequence("0 release")), true, ""},

		{"by the owner", &ownerMutex, sequence("0 acquire", "0 release", "1 acquire"), true, ""},
		{"by another process", &ownerMutex, sequence("0 acquire", "1 release"), false, ""},
		{"owners that are named", &ownerMutex, sequence(`0 acquire "a"`, `1 release "a"`, `1 acquire "b"`), true, ""},
		{"another owner", &ownerMutex, sequence(`0 acquire "a"`, `0 release "b"`), false, ""},
		{"a process is no name", &ownerMutex, sequence(`1 acquire`, `1 release 1`), false, ""},
		{"not twice", &ownerMutex, sequence("0 acquire", "0 acquire"), false, "1-2 3-4"},

		{"tokens rise", &fencedRegister, sequence(`0 write ["a",1]`, `1 write ["b",2]`, `2 read "b"`), true, ""},
		{"a token twice", &fencedRegister, sequence(`0 write ["a",1]`, `0 write ["b",1]`, `2 read "b"`), true, ""},
		{"a token falls", &fencedRegister, sequence(`0 write ["a",2]`, `1 write ["b",1]`), false, "1-2 3-4"},
		{"a token falls, refused", &fencedRegister, join(sequence(`0 write ["a",2]`), one(`1 invoke write ["b",1]`), one(`1 fail write`), sequence(`2 read "a"`)), true, ""},
		{"a token falls, seen", &fencedRegister, join(one(`0 invoke write ["a",2]`), one(`1 invoke write ["b",1]`), sequence(`2 read "a"`, `2 read "b"`), one(`0 ok write`), one(`1 ok write`)), false, ""},
		{"a token falls, concurrent", &fencedRegister, join(one(`0 invoke write ["a",2]`), one(`1 invoke write ["b",1]`), sequence(`2 read "b"`, `2 read "a"`), one(`0 ok write`), one(`1 ok write`)), true, ""},
		{"an unknown write with a large token", &fencedRegister, join(one(`0 invoke write ["a",9]`), one(`0 info write`), sequence(`1 write ["b",1]`, `2 read "b"`)), true, ""},
		{"tokens below zero", &fencedRegister, sequence(`0 write ["a",-5]`, `0 write ["b",-6]`), false, ""},
	} {
		t.Run(test.model.Name+"/"+test.name, func(t *testing.T) {
			h := script(t, test.model, test.lines...)
			r, err := Check(context.Background(), h, test.model, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			want := map[bool]Verdict{true: Linearizable, false: NotLinearizable}[test.good]
			var lines []string
			for _, op := range r.Keys[0].Culprits {
				lines = append(lines, fmt.Sprintf("%d-%d", op.Invoked.Line, op.Completed.Line))
			}
			got := strings.Join(lines, " ")
			if r.Verdict != want || test.culprits != "" && got != test.culprits {
				t.Errorf("%v, culprits %s; want %v, %s", r.Verdict, got, want, test.culprits)
			}
		})
	}
}

func TestTokenMustFit(t *testing.T) {
	h := script(t, &fencedRegister, `0 invoke write ["a","b"]`)
	_, err := Check(context.Background(), h, &fencedRegister, time.Minute)
	if err == nil || !strings.HasPrefix(err.Error(), `script:1:55: expected an integer`) {
		t.Errorf("got %v", err)
	}
}

// TestKeys: keys are judged by themselves, and the worst decides.
func TestKeys(t *testing.T) {
	good := []string{"0 invoke write 1 x", "0 ok write 1 x", "0 invoke read null x", "0 ok read 1 x"}
	bad := []string{"0 invoke write 1 y", "0 ok write 1 y", "0 invoke read null y", "0 ok read 2 y"}
	h := script(t, &register, append(append([]string{}, good...), bad...)...)
	r, err := Check(context.Background(), h, &register, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != NotLinearizable || r.Keys[0].Verdict != Linearizable || r.Keys[1].Verdict != NotLinearizable || r.First().Name != `"y"` {
		t.Errorf("%+v", r)
	}
	var out bytes.Buffer
	if err := r.Tell(&out, h, &register); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"JSON lines, 2 independent keys, model register", "4 operations\n", `not linearizable: key "y"`, "lines 7 and 8", "read 2", "this one of 2 operations"} {
		if !strings.Contains(out.String(), words) {
			t.Errorf("no %q in\n%s", words, out.String())
		}
	}
	if !strings.HasSuffix(out.String(), "\nnot linearizable\n") {
		t.Errorf("the last line is not the verdict:\n%s", out.String())
	}
}

// hard is a history that no search can decide in a moment: many writes of few
// values at once, and a last read that nothing explains. 9 is written once, for
// a read of what nobody wrote would be no question.
func hard(t testing.TB) *foreign.History {
	lines := sequence("90 write 9", "90 write 1")
	for p := range 40 {
		lines = append(lines, fmt.Sprintf("%d invoke write %d", p, p%3+1))
	}
	for i := range 30 {
		lines = append(lines, sequence(fmt.Sprintf("91 read %d", i%3+1))...)
	}
	for p := range 40 {
		lines = append(lines, fmt.Sprintf("%d ok write %d", p, p%3+1))
	}
	return script(t, &register, append(lines, sequence("92 read 9")...)...)
}

// TestUndecided names the key and why; the search honours its time.
func TestUndecided(t *testing.T) {
	h := hard(t)
	r, err := Check(context.Background(), h, &register, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != Undecided || !strings.Contains(r.Keys[0].Reason, "budget of time (50ms)") {
		t.Errorf("%v: %q", r.Verdict, r.Keys[0].Reason)
	}
}

// TestMemory: a search that needs more memory than its share ends.
func TestMemory(t *testing.T) {
	_, _, _, err := entries(hard(t), &register)
	byKey, _, _, _ := entries(hard(t), &register)
	if err != nil {
		t.Fatal(err)
	}
	l := limits{ctx: context.Background(), until: time.Now().Add(10 * time.Minute), memory: 1 << 20}
	if got, why := register.ask(register.reduce(byKey[""]), l); got != unknown || why != spentMemory {
		t.Errorf("%v, %q", got, why)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := Check(ctx, hard(t), &register, 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != Undecided || !strings.Contains(r.Keys[0].Reason, "interruption") {
		t.Errorf("%v: %q", r.Verdict, r.Keys[0].Reason)
	}
}

// TestNothingObserved: a history that cannot be illegal is not called good.
func TestNothingObserved(t *testing.T) {
	for name, lines := range map[string][]string{
		"only writes":      sequence("0 write 1", "0 write 2"),
		"reads of null":    sequence("0 write 1", "0 read null"),
		"only unknown":     {"0 invoke write 1"},
		"only failures":    {"0 invoke write 1", "0 fail write"},
		"unfinished reads": {"0 invoke write 1", "1 invoke read"},
	} {
		r, err := Check(context.Background(), script(t, &register, lines...), &register, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != Undecided || r.Reason == "" {
			t.Errorf("%s: %v, %q", name, r.Verdict, r.Reason)
		}
	}
}

// TestPictureIsText: whatever a file holds, Porcupine's page shows it and does
// not run it.
func TestPictureIsText(t *testing.T) {
	h := script(t, &register, sequence(`0 write "<img/src=x/onerror=alert(1)>"`, `0 write "b"`, `1 read "<img/src=x/onerror=alert(1)>"`)...)
	r, err := Check(context.Background(), h, &register, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	shown, err := register.Picture(&page, r.First())
	if err != nil || shown != "all operations" {
		t.Fatalf("%q, %v", shown, err)
	}
	// The page's data is JSON, in which < is written as <.
	for _, raw := range []string{"<img", `\u003cimg`} {
		if strings.Contains(page.String(), raw) {
			t.Errorf("the page has %s", raw)
		}
	}
	if !strings.Contains(page.String(), `\u0026lt;img`) {
		t.Error("the page does not show the value")
	}
}
