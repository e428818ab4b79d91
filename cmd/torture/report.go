package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/torture-harness/torture/harness/report"
)

func reportCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "report DIR",
		Short:   "Render the report of a saved run again",
		Example: "  torture report results/latest",
		Args:    exactly(1, "one run folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := report.Write(args[0]); err != nil {
				return usage{err}
			}
			fmt.Printf("%s/report.html\n", args[0])
			return nil
		},
	}
}
