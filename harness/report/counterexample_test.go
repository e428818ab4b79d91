package report

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
)

func judgedCell(t *testing.T, name string) result.Cell {
	t.Helper()
	h, err := history.ReadFile(filepath.Join("..", "..", "testdata", "histories", name, "history.jsonl"))
	must(t, err)
	j, err := checkers.Judge(t.Context(), h, nil, checkers.Config{})
	must(t, err)
	return result.Cell{Strategy: "test", Fault: "pause-holder", Dir: "cells/test.pause-holder", Status: j.Status, Properties: j.Findings}
}

// TestCounterexamples: one cell is told in full; of several cells of a strategy
// only the first, unless one broke a promise; the others are named.
func TestCounterexamples(t *testing.T) {
	late := judgedCell(t, "late-write")
	late.Properties[checkers.StaleOverwrite].Counterexamples[0].File = "counterexamples/stale-overwrite.r00.jsonl"
	failed := late
	failed.Status = checkers.Failed
	good := judgedCell(t, "late-write-refused")
	const reason = "there is no such order"
	for _, c := range []struct {
		name        string
		cells       []result.Cell
		told, named int
	}{
		{"one cell", []result.Cell{late}, 3, 3},
		{"three cells", []result.Cell{late, late, failed}, 2, 9},
		{"nothing is violated", []result.Cell{good}, 0, 0},
	} {
		var out bytes.Buffer
		must(t, Counterexamples(&out, result.Result{Cells: c.cells}, 90))
		if told, named := strings.Count(out.String(), reason), strings.Count(out.String(), "is violated, as"); told != c.told || named != c.named {
			t.Errorf("%s: %d told and %d named, want %d and %d\n%s", c.name, told, named, c.told, c.named, &out)
		}
	}
	var out bytes.Buffer
	must(t, Counterexamples(&out, result.Result{Cells: []result.Cell{late}}, 90))
	for _, want := range []string{
		"stale-overwrite of r00 is violated, as 6 operations show, in", "cells/test.pause-holder/counterexamples/stale-overwrite.r00.jsonl",
		"writes wA, computed from init, under gA", "gA was given before gB was asked for", "unless directly on init",
	} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("it does not say %q:\n%s", want, &out)
		}
	}
	for line := range strings.Lines(out.String()) {
		if n := text.StringWidth(strings.TrimSuffix(line, "\n")); n > 90 {
			t.Errorf("a line of %d: %s", n, line)
		}
	}
}

// TestHostileCounterexample: what came from outside does not move the cursor.
func TestHostileCounterexample(t *testing.T) {
	c := judgedCell(t, "late-write")
	x := c.Properties[checkers.FenceOrder].Counterexamples[0]
	x.History.Operations[0].ID, x.History.Operations[1].Client = "\x1b[2Jgone", "\r\nnew line"
	var out bytes.Buffer
	must(t, Piece(&out, x.History.Header, c.Properties[checkers.FenceOrder], 80))
	if strings.ContainsAny(out.String(), "\x1b\r") || strings.Contains(out.String(), "\nnew line") {
		t.Errorf("%q", out.String())
	}
}
