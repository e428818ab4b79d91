package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/torture-harness/torture/harness/explore"
)

func replayCommand() *cobra.Command {
	o := explore.Options{Name: "replay"}
	var images []string
	var schedule string
	cmd := &cobra.Command{
		Use:   "replay DIR",
		Short: "Run the schedules of an exploration again, or one of them",
		Long: `Runs the plan of a saved exploration again, on fresh servers, or one schedule of
it. A schedule is named by its letters, with its strategy before it where several
have it: etcd-fenced/AABBAABB. Exit codes as for explore.`,
		Example: `  torture replay results/latest
  torture replay results/latest --schedule etcd-fenced/AABBAABB`,
		Args: exactly(1, "one folder of an exploration"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.Images, err = parseImages(images); err != nil {
				return err
			}
			if err := refuseNothing(cmd, "schedule", "parallel", "provider", "results"); err != nil {
				return err
			}
			plan, err := explore.ReadPlan(args[0], schedule)
			if err != nil {
				return usage{err}
			}
			o.Clients, o.Expiry, o.TTL, o.Seed, o.Only = plan.Clients, plan.Expiry, plan.TTL, plan.Seed, plan.Strategies
			o.Command = strings.TrimSpace("torture replay " + args[0] + " " + scheduleFlag(schedule))
			return runExploration(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&schedule, "schedule", "", "run this one alone, as AABBBBAA or setnx/AABBBBAA (default: all)")
	f.IntVar(&o.Parallel, "parallel", 0, "schedules at once (default: eight for each core)")
	f.StringVar(&o.Provider, "provider", "auto", "what the servers run in: auto, container or process")
	f.StringArrayVar(&images, "image", nil, "another image, as redis=NAME, etcd=NAME or postgres=NAME; may be repeated")
	f.StringVar(&o.Results, "results", "results", "folder of the results; DIR/latest is the newest")
	return cmd
}

func scheduleFlag(schedule string) string {
	if schedule == "" {
		return ""
	}
	return "--schedule " + schedule
}
