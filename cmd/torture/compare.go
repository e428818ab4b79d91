package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/torture-harness/torture/harness"
	"github.com/torture-harness/torture/harness/report"
)

func compareCommand() *cobra.Command {
	plan := harness.Plan{Name: "compare"}
	var images []string
	var all bool
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Compare strategies under faults, on real servers",
		Long: `Runs every strategy under every fault, one cell after the other, and says for
each whether the lock was granted to two at once (lock layer) and whether an old
holder overwrote newer data (resource layer).

Exit code: 0 every contract was met; 1 a promise was broken; 2 wrong usage;
3 inconclusive (too little happened, or the budget ran out); 4 something broke.`,
		Example: `  torture compare
  torture compare --strategy setnx,etcd-fenced --fault pause-holder
  torture compare --all
  torture compare --seed 7 --duration 10s --provider process`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if plan.Images, err = parseImages(images); err != nil {
				return err
			}
			if err := refuseNothing(cmd, "strategy", "fault", "ttl", "duration", "think", "workers", "resources", "exposures", "provider", "results"); err != nil {
				return err
			}
			if all {
				if cmd.Flags().Changed("strategy") && cmd.Flags().Changed("fault") {
					return usage{errors.New("--all with --strategy and --fault leaves nothing to it; leave one of them out")}
				}
				plan.Everything()
			}
			if !cmd.Flags().Changed("seed") {
				plan.Seed = rand.Int64N(1_000_000)
			}
			plan.Command = replay(plan)
			screen := newScreen(os.Stdout)
			res, dir, err := harness.Run(cmd.Context(), plan, screen)
			screen.close()
			if dir == "" {
				return err
			}
			if len(res.Cells) > 0 {
				if err := report.Table(os.Stdout, res, screen.width(), screen.colour); err != nil {
					return err
				}
			}
			warn(res)
			if err != nil && len(res.Cells) == 0 { // else the table has said so
				fmt.Fprintln(os.Stderr, "torture:", line(err))
				return exit(res.ExitCode)
			}
			program := os.Args[0]
			fmt.Printf("\n%s in %.0f s, seed %d\nreport:      %s\nagain:       %s\njudge again: %s check %s\n",
				res.Status, res.Seconds, res.Seed, filepath.Join(relative(dir), "report.html"),
				program+strings.TrimPrefix(res.Command, "torture"), program, relative(dir))
			if res.ExitCode != 0 {
				return exit(res.ExitCode)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&plan.Strategies, "strategy", nil, "strategies, comma-separated; see 'torture list' (default: those that it lists first)")
	f.StringSliceVar(&plan.Faults, "fault", nil, "faults, comma-separated (default: none,pause-holder,pause-random,delay-write)")
	f.BoolVar(&all, "all", false, "the whole catalogue under every fault, or what --strategy or --fault leave of it")
	f.Int64Var(&plan.Seed, "seed", 0, "decides who is stopped, where, when and how long (default: a random one, printed)")
	f.DurationVar(&plan.Duration, "duration", 3*time.Second, "least length of a cell; it goes on for at most eight times that until its exposures suffice")
	f.DurationVar(&plan.TTL, "ttl", time.Second, "the lease")
	f.DurationVar(&plan.Think, "think", 0, "time between read and write, ± 50 % (default TTL/6)")
	f.IntVar(&plan.Workers, "workers", 3, "worker processes; one of them is never stopped")
	f.IntVar(&plan.Resources, "resources", 16, "shared documents, each with a lock; every worker has a client for each")
	f.IntVar(&plan.Exposures, "exposures", 20, "how often a promise must have been at risk for 'holds' to count")
	f.StringVar(&plan.Provider, "provider", "auto", "what the servers run in: auto, container or process")
	f.StringArrayVar(&images, "image", nil, "another image, as redis=NAME, etcd=NAME or postgres=NAME; may be repeated")
	f.StringVar(&plan.Results, "results", "results", "folder of the results; DIR/latest is the newest")
	return cmd
}

// refuseNothing refuses flags that were given as nothing: zero and the empty
// string stand for the default inside a plan, and must not do so silently here.
func refuseNothing(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		switch value := f.Value.String(); {
		case f.Changed && (value == "" || value == "[]" || value == "0" || value == "0s"):
			return usage{fmt.Errorf("--%s is given as nothing; leave it out for its default, or see `%s --help`", name, cmd.CommandPath())}
		}
	}
	return nil
}

func parseImages(images []string) (map[string]string, error) {
	parsed := map[string]string{}
	for _, image := range images {
		kind, name, ok := strings.Cut(image, "=")
		if !ok || name == "" || (kind != "redis" && kind != "etcd" && kind != "postgres") {
			return nil, usage{fmt.Errorf("--image %q: want redis=NAME, etcd=NAME or postgres=NAME", image)}
		}
		if parsed[kind] != "" {
			return nil, usage{fmt.Errorf("--image: %s is given twice", kind)}
		}
		parsed[kind] = name
	}
	return parsed, nil
}

// replay is the command that runs the same plan again.
func replay(p harness.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "torture compare --seed %d", p.Seed)
	list := func(name string, values []string) {
		if len(values) > 0 {
			fmt.Fprintf(&b, " --%s %s", name, strings.Join(values, ","))
		}
	}
	list("strategy", p.Strategies)
	list("fault", p.Faults)
	fmt.Fprintf(&b, " --duration %s --ttl %s", p.Duration, p.TTL)
	if p.Think != 0 {
		fmt.Fprintf(&b, " --think %s", p.Think)
	}
	if p.Workers != 3 || p.Resources != 16 || p.Exposures != 20 {
		fmt.Fprintf(&b, " --workers %d --resources %d --exposures %d", p.Workers, p.Resources, p.Exposures)
	}
	if p.Provider != "auto" {
		fmt.Fprintf(&b, " --provider %s", p.Provider)
	}
	for _, kind := range []string{"redis", "etcd", "postgres"} {
		if name := p.Images[kind]; name != "" {
			fmt.Fprintf(&b, " --image %s=%s", kind, name)
		}
	}
	return b.String()
}
