package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/torture-harness/torture/harness/guardian"
)

func cleanCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "Remove what dead runs have left behind",
		Long: `Continues, kills and removes whatever a run has started that died without its
guardian. Runs that are alive are not touched. Results are kept.`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			done, err := guardian.Clean(cmd.Context(), os.Stdout)
			if err != nil {
				return err
			}
			fmt.Println(done)
			return nil
		},
	}
}
