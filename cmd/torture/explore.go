package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torture-harness/torture/harness/explore"
)

func exploreCommand() *cobra.Command {
	var o explore.Options
	var images []string
	cmd := &cobra.Command{
		Use:   "explore",
		Short: "Run every interleaving of two clients, on real servers",
		Long: `Runs all the ways in which the steps of two clients (acquire, read, check, write,
release) can interleave, each on a resource of its own. Where one client acquires
while the other holds the lock, the holder is stopped with SIGSTOP until its lease
has ended. The schedules in which one write is held in the network are run too.

For each schedule: what the checkers say, whether it ran exactly as planned, and
whether it is what a small model of the protocol says. Three clients have too many
schedules for most purposes: --schedules N draws some of them.

Exit code: 0 every promise was kept in every schedule, and what is predicted was
found; 1 a promise was broken; 2 wrong usage; 3 inconclusive (model and servers
differ, or a schedule did not run as planned); 4 something broke.`,
		Example: `  torture explore
  torture explore --strategy etcd-fenced
  torture explore --clients 3 --expiry forced --schedules 2000 --strategy etcd-claim`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Images, err = parseImages(images); err != nil {
				return err
			}
			if err := refuseNothing(cmd, "strategy", "clients", "expiry", "schedules", "ttl", "parallel", "provider", "results"); err != nil {
				return err
			}
			if !cmd.Flags().Changed("seed") {
				o.Seed = rand.Int64N(1_000_000)
			}
			o.Command = exploration(o)
			return runExploration(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.Strategies, "strategy", nil, "strategies to explore (default: "+strings.Join(explore.Default, ",")+")")
	f.IntVar(&o.Clients, "clients", 2, "clients of a schedule")
	f.StringVar(&o.Expiry, "expiry", explore.Natural, "how leases end: natural (waited for) or forced (revoked, or expired, at the server)")
	f.IntVar(&o.Sample, "schedules", 0, "draw so many schedules of each strategy (default: all)")
	f.Int64Var(&o.Seed, "seed", 0, "of all random choices (default: a random one, printed)")
	f.DurationVar(&o.TTL, "ttl", 0, "lease of the locks (default: 1s; 10s where expiry is forced)")
	f.IntVar(&o.Parallel, "parallel", 0, "schedules at once (default: eight for each core)")
	f.StringVar(&o.Provider, "provider", "auto", "what the servers run in: auto, container or process")
	f.StringArrayVar(&images, "image", nil, "another image, as redis=NAME, etcd=NAME or postgres=NAME; may be repeated")
	f.StringVar(&o.Results, "results", "results", "folder of the results; DIR/latest is the newest")
	return cmd
}

// exploration is the command that runs the same again.
func exploration(o explore.Options) string {
	parts := []string{"torture explore"}
	add := func(wanted bool, format string, args ...any) {
		if wanted {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(len(o.Strategies) > 0, "--strategy %s", strings.Join(o.Strategies, ","))
	add(o.Clients != 2, "--clients %d", o.Clients)
	add(o.Expiry != explore.Natural, "--expiry %s", o.Expiry)
	add(o.Sample > 0, "--schedules %d", o.Sample)
	add(o.TTL > 0, "--ttl %s", o.TTL)
	add(o.Parallel > 0, "--parallel %d", o.Parallel)
	add(true, "--seed %d", o.Seed)
	return strings.Join(parts, " ")
}

func runExploration(ctx context.Context, o explore.Options) error {
	screen := newExploreScreen(os.Stdout)
	res, dir, err := explore.Run(ctx, o, screen)
	screen.close()
	if dir == "" {
		return err
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", line(err))
	}
	screen.summary(res)
	fmt.Printf("result: %s\n", filepath.Join(relative(dir), "result.json"))
	fmt.Printf("report: %s\n", filepath.Join(relative(dir), "report.html"))
	if res.ExitCode != 0 {
		return exit(res.ExitCode)
	}
	return nil
}

// checkExploration judges a saved exploration again.
func checkExploration(ctx context.Context, dir string) error {
	res, err := explore.Check(ctx, dir)
	if err != nil {
		return err
	}
	screen := newExploreScreen(os.Stdout)
	for _, e := range res.Strategies {
		screen.Explored(e)
	}
	screen.summary(res)
	if res.ExitCode != 0 {
		return exit(res.ExitCode)
	}
	return nil
}
