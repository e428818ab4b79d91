package harness

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
)

// judgedCell is a labelled history judged as a cell.
func judgedCell(t *testing.T, name string) *result.Cell {
	t.Helper()
	h, err := history.ReadFile(filepath.Join("..", "testdata", "histories", name, "history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	j, err := checkers.Judge(t.Context(), h, nil, checkers.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &result.Cell{Properties: j.Findings}
}

// TestCounterexamplesAreSaved, each where its name says, and judged alone as in
// the whole; later they are found again.
func TestCounterexamplesAreSaved(t *testing.T) {
	dir := t.TempDir()
	cell := judgedCell(t, "late-write")
	saveCounterexamples(dir, cell)
	if len(cell.Warnings) > 0 {
		t.Fatal(cell.Warnings)
	}
	again := judgedCell(t, "late-write")
	findCounterexamples(dir, again)
	for _, p := range []checkers.Property{checkers.StaleOverwrite, checkers.FenceOrder, checkers.RMWAtomic} {
		want := filepath.Join("counterexamples", string(p)+".r00.jsonl")
		for _, c := range []*result.Cell{cell, again} {
			if x := c.Properties[p].Counterexamples; len(x) != 1 || x[0].File != want {
				t.Fatalf("%s: counterexamples %+v, want one in %s", p, x, want)
			}
		}
		path := filepath.Join(dir, want)
		if !history.IsPiece(path) {
			t.Fatalf("%s is no piece", path)
		}
		h, err := history.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := checkers.JudgePiece(h, checkers.DefaultBudget)
		if err != nil || f.Verdict != checkers.Violated || f.DecidedBy != "porcupine" || len(f.Counterexamples) != 1 {
			t.Errorf("%s by itself: %+v, %v", p, f, err)
		}
	}
}

// TestNoCounterexampleOfALegalHistory: nothing is written, not even a folder.
func TestNoCounterexampleOfALegalHistory(t *testing.T) {
	dir := t.TempDir()
	saveCounterexamples(dir, judgedCell(t, "late-write-refused"))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
	if history.IsPiece(filepath.Join("..", "testdata", "histories", "late-write", "history.jsonl")) {
		t.Error("a whole history is taken for a piece")
	}
}

// TestCounterexamplesThatCannotBeSaved are a warning: the verdict stands.
func TestCounterexamplesThatCannotBeSaved(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, counterexampleDir), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cell := judgedCell(t, "late-write")
	saveCounterexamples(dir, cell)
	if len(cell.Warnings) != 1 {
		t.Errorf("warnings %q, want one", cell.Warnings)
	}
}
