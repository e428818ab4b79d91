package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/torture-harness/torture/harness/doctor"
)

func doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what is there, what is missing, and how to get it",
		Long: `Looks at this machine and says what torture finds, what is missing and how to get
it, and what this account cannot do. Exit code 4 if something is missing without
which nothing can be run.`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			items := doctor.Check(cmd.Context())
			if err := doctor.Render(os.Stdout, items); err != nil {
				return err
			}
			if !doctor.Ready(items) {
				return exit(exitError)
			}
			return nil
		},
	}
}
