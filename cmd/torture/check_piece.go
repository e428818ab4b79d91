package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/report"
)

// checkPiece judges a counterexample by itself. A public model would take it
// for a whole history.
func checkPiece(cmd *cobra.Command, path string) error {
	if cmd.Flags().Changed("model") {
		return usage{fmt.Errorf("%s: this is a counterexample, which is judged by what its header says; leave out --model", path)}
	}
	h, err := history.ReadFile(path)
	if err != nil {
		return usage{err}
	}
	f, err := checkers.JudgePiece(h, checkers.DefaultBudget)
	var damage *history.Damage
	switch {
	case errors.As(err, &damage):
		return usage{err}
	case err != nil:
		return err
	}
	if err := report.Piece(os.Stdout, h.Header, f, newScreen(os.Stdout).width()); err != nil {
		return err
	}
	switch f.Verdict {
	case checkers.Violated:
		return exit(checkers.ExitCode(checkers.Failed))
	case checkers.Holds:
		return nil
	}
	return exit(checkers.ExitCode(checkers.Inconclusive))
}
