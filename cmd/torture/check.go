package main

import (
	"fmt"
	"os"
	"runtime/debug"

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

// judgePercent is how much garbage judging may leave beside a history, in percent
// of it, unless GOGC says otherwise: a history of a million operations takes
// half a gigabyte, and is judged in less than one.
const judgePercent = 50

func checkCommand() *cobra.Command {
	var onlyValidate bool
	var file fileFlags
	cmd := &cobra.Command{
		Use:   "check DIR|FILE",
		Short: "Judge a saved run again, or a history that others have recorded",
		Long: `Judges the histories of a run folder, or of one of its cells, again. It needs no
servers and changes no file. Exit codes as for compare; 2 if a file cannot be read.

A single file is judged by --model: EDN as Jepsen and Knossos write it, a log of
Jepsen, JSON lines, or the history.jsonl of a cell (docs/histories.md). Its exit
codes: 0 linearizable, 1 not linearizable, 2 bad input, 3 undecided. A
counterexample of a run is judged by what it shows violated, without --model.

With --validate-only it asks of a folder's histories, or of one history.jsonl,
whether they can be judged, in little memory however long they are.`,
		Example: `  torture check results/latest
  torture check results/latest/cells/setnx.pause-holder
  torture check results/latest/cells/setnx.pause-holder/counterexamples/stale-overwrite.r00.jsonl
  torture check history.edn --model cas-register --html history.html
  torture check --validate-only history.jsonl`,
		Args: exactly(1, "one run folder, or one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if onlyValidate {
				return validateOnly(args[0])
			}
			switch {
			case history.IsPiece(args[0]):
				return checkPiece(cmd, args[0])
			case isFile(args[0]):
				return checkFile(cmd.Context(), args[0], file)
			}
			if err := file.unused(cmd, args[0]); err != nil {
				return err
			}
			if os.Getenv("GOGC") == "" {
				debug.SetGCPercent(judgePercent)
			}
			if report.IsClaims(args[0]) {
				return checkClaims(cmd.Context(), args[0])
			}
			if report.IsExplore(args[0]) {
				return checkExploration(cmd.Context(), args[0])
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
	cmd.Flags().BoolVar(&onlyValidate, "validate-only", false, "say whether the histories can be judged, and judge nothing")
	return cmd
}
