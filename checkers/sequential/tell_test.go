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

func told(t *testing.T, h *foreign.History, m *Model) string {
	t.Helper()
	r, err := Check(context.Background(), h, m, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.Tell(&out, h, m); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestNamed(t *testing.T) {
	for _, m := range Models {
		if Named(m.Name) != m {
			t.Errorf("%s is another model", m.Name)
		}
	}
	if m := Named("queue"); m != nil {
		t.Errorf("a queue is %s", m.Name)
	}
}

// TestTellCounts: what was not judged is said.
func TestTellCounts(t *testing.T) {
	h := script(t, &register,
		"0 invoke write 1", "0 ok write 1", "1 invoke read", "1 ok read null", "1 invoke read", "1 ok read", "1 invoke read", "1 fail read",
		`"nemesis" info cut`, "2 invoke write 2", "2 fail write", "3 invoke write 3", "3 info write", "4 invoke read", "5 invoke read", "5 ok read 1")
	h.Left.Lines = 3
	got := told(t, h, &register)
	want := "script: JSON lines, model register\n" +
		"8 operations (2 with an unknown outcome; 2 failed: certainly without effect, so dropped; 2 reads of nil: they observed nothing); " +
		"left out: 1 event of the nemesis; left out: 3 lines of the log that are no events\n\nlinearizable\n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestTellIsShort: many keys and many culprits are counted, not listed.
func TestTellIsShort(t *testing.T) {
	var lines []string
	for key := range 13 {
		lines = append(lines, fmt.Sprintf("0 invoke read null k%d", key), fmt.Sprintf("0 ok read 7 k%d", key))
	}
	got := told(t, script(t, &register, lines...), &register)
	if n := strings.Count(got, "not linearizable: key"); n != toldKeys || !strings.Contains(got, "3 more keys") {
		t.Errorf("%d keys are told:\n%s", n, got)
	}

	// All writes of 1 but the last must be known to be over for the read to be wrong.
	lines = nil
	for range 20 {
		lines = append(lines, sequence("0 write 1")...)
	}
	lines = append(lines, sequence("0 write 2", "1 read 1")...)
	got = told(t, script(t, &register, lines...), &register)
	if !strings.Contains(got, "  10 earlier ones, and\n") || !strings.Contains(got, "lines 43 and 44") || !strings.Contains(got, "these 22 of 22 operations") {
		t.Errorf("got\n%s", got)
	}
}

// TestTellIsPlain: a file cannot make a terminal do anything.
func TestTellIsPlain(t *testing.T) {
	got := told(t, script(t, &register, `0 invoke write "\u001b[31m`+strings.Repeat("x", 200)+`"`, `0 ok write`, `"\u001b[2J" invoke read`, `"\u001b[2J" ok read "\u0007"`), &register)
	if strings.ContainsAny(got, "\x1b\a") || !strings.Contains(got, "�[2J") {
		t.Errorf("got %q", got)
	}
}
