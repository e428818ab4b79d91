package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/torture-harness/torture/harness"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  exactly(0, "no arguments"),
		Run:   func(*cobra.Command, []string) { fmt.Println("torture", harness.Version()) },
	}
}
