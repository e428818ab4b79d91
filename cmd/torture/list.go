package main

import (
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/nemesis"
	"github.com/torture-harness/torture/workloads"
)

func listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List strategies, lockers, guards, faults and contracts",
		Args:  exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "STRATEGY\tLOCKER\tGUARD\tWHAT IT IS")
			for _, extra := range []bool{false, true} {
				if extra {
					fmt.Fprintln(w, "\nONLY WHEN NAMED, OR WITH --all\tLOCKER\tGUARD\tWHAT IT IS")
				}
				for _, s := range workloads.Strategies {
					if s.Extra != extra {
						continue
					}
					locker := s.Locker.Name
					if locker == "" {
						locker = "none"
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Name, locker, s.Guard.Name, s.About)
				}
			}
			fmt.Fprintln(w, "\nLOCKER\tTOKENS\t\tWHAT IT IS")
			for _, l := range workloads.Lockers {
				fmt.Fprintf(w, "%s\t%s\t\t%s\n", l.Name, yes(l.Tokens), l.About)
			}
			fmt.Fprintln(w, "\nGUARD\tTOKENS\t\tWHAT IT IS")
			for _, g := range workloads.Guards {
				fmt.Fprintf(w, "%s\t%s\t\t%s\n", g.Name, yes(g.Tokens), g.About)
			}
			fmt.Fprintln(w, "\nFAULT\t\t\tWHAT IT IS")
			for _, f := range nemesis.Faults {
				fmt.Fprintf(w, "%s\t\t\t%s\n", f.Name(), f.About())
			}
			fmt.Fprint(w, "\nCONTRACT")
			for _, f := range nemesis.Faults {
				fmt.Fprintf(w, "\t%s", f.Name())
			}
			fmt.Fprintln(w)
			for _, s := range workloads.Strategies {
				for _, p := range checkers.Properties {
					if _, applies := s.ContractUnder(workloads.FaultNone)[p]; !applies {
						continue
					}
					fmt.Fprintf(w, "%s: %s", s.Name, p)
					for _, f := range nemesis.Faults {
						fmt.Fprintf(w, "\t%s", s.ContractUnder(f.Name())[p])
					}
					fmt.Fprintln(w)
				}
			}
			return w.Flush()
		},
	}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
