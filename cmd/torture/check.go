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
	var file fileFlags
	cmd := &cobra.Command{
		Use:   "check DIR|FILE",
		Short: "Judge a saved run again, or a history that others have recorded",
		Long: `Judges the histories of a run folder, or of one of its cells, again. It needs no
servers and changes no file. Exit codes as for compare; 2 if a file cannot be read.

A single file is judged by --model: EDN as Jepsen and Knossos write it, a log of
Jepsen, JSON lines, or the history.jsonl of a cell (docs/histories.md). Its exit
codes: 0 linearizable, 1 not linearizable, 2 bad input, 3 undecided. A
counterexample of a run is judged by what it shows violated, without --model.`,
		Example: `  torture check results/latest
  torture check results/latest/cells/setnx.pause-holder
  torture check results/latest/cells/setnx.pause-holder/counterexamples/stale-overwrite.r00.jsonl
  torture check history.edn --model cas-register --html history.html`,
		Args: exactly(1, "one run folder, or one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if history.IsPiece(args[0]) {
				return checkPiece(cmd, args[0])
			}
			if isFile(args[0]) {
				return checkFile(cmd.Context(), args[0], file)
			}
			if err := file.unused(cmd, args[0]); err != nil {
				return err
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
	file.add(cmd)
	return cmd
}
