package histories_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/checkers/histories"
	"github.com/torture-harness/torture/harness/history"
)

var shapes = map[string]histories.Shape{
	"one resource":           {Operations: 600},
	"two clients":            {Operations: 100, Clients: 2},
	"several resources":      {Resources: 5, Operations: 60},
	"unknown outcomes":       {Operations: 600, Unknown: 0.1},
	"late answers":           {Operations: 600, Paused: 0.2, Unknown: 0.05},
	"one stale write":        {Operations: 600, Stale: 1},
	"some stale writes":      {Resources: 5, Operations: 60, Stale: 3, Unknown: 0.1, Paused: 0.1},
	"another seed":           {Operations: 600, Unknown: 0.1, Paused: 0.1, Stale: 1, Seed: 7},
	"one client, one update": {Operations: 1, Clients: 1},
}

// TestLabels: a made history is valid and is judged to be what it was made to
// be.
func TestLabels(t *testing.T) {
	for name, s := range shapes {
		m := s.Make()
		if len(m.Stale) != s.Stale {
			t.Errorf("%s: stale writes %v, want %d", name, m.Stale, s.Stale)
		}
		j, err := checkers.Judge(context.Background(), m.History, m.Journal, checkers.Config{MinExposures: 1})
		if err != nil || j.Status == checkers.Errored {
			t.Fatalf("%s: %v %q", name, err, j.Reasons)
		}
		for _, p := range []checkers.Property{checkers.Register, checkers.StaleOverwrite, checkers.FenceOrder, checkers.RMWAtomic} {
			f := j.Findings[p]
			wrong := p != checkers.Register && s.Stale > 0
			if got := f.Verdict == checkers.Violated; got != wrong || f.Verdict == checkers.Undecided {
				t.Errorf("%s: %s is %s", name, p, f.Verdict)
			}
			if p == checkers.StaleOverwrite && f.Count != s.Stale {
				t.Errorf("%s: %d stale writes found, want %d", name, f.Count, s.Stale)
			}
		}
	}
}

// TestLines: the lines are in the order of their times and read back as the
// same history.
func TestLines(t *testing.T) {
	for name, s := range shapes {
		var b bytes.Buffer
		if err := s.WriteLines(&b); err != nil {
			t.Fatal(err)
		}
		h, err := history.Parse(&b, "made")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := map[string]history.Operation{}
		for _, op := range s.Make().History.Operations {
			want[op.ID] = op
		}
		if len(h.Operations) != len(want) {
			t.Fatalf("%s: %d operations in lines, %d made", name, len(h.Operations), len(want))
		}
		last, lastLine := int64(0), 0
		for _, op := range h.Operations {
			if op.Call < last || op.Line < lastLine {
				t.Fatalf("%s: %s is out of order", name, op.ID)
			}
			last, lastLine = op.Call, op.Line
			op.Line, op.End = 0, 0
			if op != want[op.ID] {
				t.Fatalf("%s: %s\ngot  %+v\nwant %+v", name, op.ID, op, want[op.ID])
			}
		}
	}
}
