package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/torture-harness/torture/harness"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/report"
	"github.com/torture-harness/torture/harness/result"
)

// warn prints what was tolerated.
func warn(res result.Result) {
	for _, c := range res.Cells {
		for _, w := range c.Warnings {
			fmt.Printf("warning: %s under %s: %s\n", c.Strategy, c.Fault, w)
		}
	}
}

func checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check DIR",
		Short: "Judge a saved run again",
		Long: `Judges the histories of a run folder, or of one of its cells, again. It needs no
servers and changes no file. Exit codes as for compare; 2 if a file cannot be read.`,
		Example: `  torture check results/latest
  torture check results/latest/cells/setnx.pause-holder
  torture check results/latest/cells/setnx.pause-holder/counterexamples/stale-overwrite.r00.jsonl`,
		Args: exactly(1, "one run folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if history.IsPiece(args[0]) {
				return checkPiece(args[0])
			}
			if report.IsClaims(args[0]) {
				return checkClaims(cmd.Context(), args[0])
			}
			res, err := harness.Check(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			screen := newScreen(os.Stdout)
			if err := report.Table(os.Stdout, res, screen.width(), screen.colour); err != nil {
				return err
			}
			warn(res)
			if err := report.Counterexamples(os.Stdout, res, screen.width()); err != nil {
				return err
			}
			fmt.Printf("\n%s\n", res.Status)
			if res.ExitCode != 0 {
				return exit(res.ExitCode)
			}
			return nil
		},
	}
}
