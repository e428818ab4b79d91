package main

import (
	"fmt"
	"os"
	"strings"

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
			if len(done.Cleaned) == 0 {
				fmt.Println("no dead run has left anything behind")
			} else {
				fmt.Printf("cleaned up after %d dead runs (%s), %d things removed\n", len(done.Cleaned), strings.Join(done.Cleaned, ", "), len(done.Removed))
			}
			if len(done.Alive) > 0 {
				fmt.Printf("left alone, for they are alive: %s\n", strings.Join(done.Alive, ", "))
			}
			return nil
		},
	}
}
