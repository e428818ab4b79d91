package harness

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
)

const counterexampleDir = "counterexamples"

// saveCounterexamples writes the counterexamples of a cell into its folder. A
// failure decides nothing: the whole history is there.
func saveCounterexamples(dir string, cell *result.Cell) {
	err := eachCounterexample(cell, func(name string, x *checkers.Counterexample) error {
		if err := os.MkdirAll(filepath.Join(dir, counterexampleDir), 0o755); err != nil {
			return err
		}
		x.File = name
		return history.Save(filepath.Join(dir, name), x.History)
	})
	if err != nil {
		cell.Warnings = append(cell.Warnings, OneLine(fmt.Errorf("the counterexamples were not saved: %w", err)))
	}
}

// findCounterexamples names the files that a run has left.
func findCounterexamples(dir string, cell *result.Cell) {
	eachCounterexample(cell, func(name string, x *checkers.Counterexample) error {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			x.File = name
		}
		return nil
	})
}

// eachCounterexample goes through those of a cell with the names of their files,
// relative to the cell's folder.
func eachCounterexample(cell *result.Cell, do func(name string, x *checkers.Counterexample) error) error {
	for _, p := range checkers.Properties {
		all := cell.Properties[p].Counterexamples // the finding is a copy, what it lists is not
		for i := range all {
			name := filepath.Join(counterexampleDir, string(p)+"."+url.PathEscape(all[i].Resource)+".jsonl")
			if err := do(name, &all[i]); err != nil {
				return err
			}
		}
	}
	return nil
}
