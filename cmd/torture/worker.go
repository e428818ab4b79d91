package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/torture-harness/torture/harness/worker"
)

func workerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "worker",
		Short:  "Be one service instance (started by torture itself)",
		Hidden: true,
		Args:   exactly(0, "no arguments"),
		RunE:   func(*cobra.Command, []string) error { return worker.Main(os.Stdin, os.Stdout) },
	}
}
