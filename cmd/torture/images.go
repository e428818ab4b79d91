package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/torture-harness/torture/harness/cluster"
)

func imagesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "images",
		Short: "Build the images of the servers",
		Args:  exactly(0, "no arguments"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "build",
		Short: "Build those that are missing or whose recipe has changed",
		Long: `Builds images of Redis, etcd and PostgreSQL on this machine, for engines that can
reach no registry. They are tagged by the hash of their recipe, and built again
when it changes.`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cluster.BuildImages(cmd.Context(), os.Stdout) },
	})
	return cmd
}
