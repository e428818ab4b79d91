package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torture-harness/torture/harness/claims"
)

func claimsCommand() *cobra.Command {
	var o claims.Options
	var images []string
	var list bool
	cmd := &cobra.Command{
		Use:   "claims [C9 X11 ...]",
		Short: "Put every claim about locks and fencing to the test, on real servers",
		Long: `Plays every claim as a short script on real servers: it brings its situation
about, proves that it occurred, and compares what came out with what is claimed.

Exit code: 0 every claim is as claimed; 1 one is not; 2 wrong usage;
3 inconclusive (a situation did not occur); 4 something broke.`,
		Example: `  torture claims
  torture claims C9 C30 X11
  torture claims --list
  torture claims --self-test`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.Images, err = parseImages(images); err != nil {
				return err
			}
			if err := refuseNothing(cmd, "provider", "results"); err != nil {
				return err
			}
			o.IDs = args
			if list {
				return listClaims(args)
			}
			if !cmd.Flags().Changed("seed") {
				o.Seed = rand.Int64N(1_000_000)
			}
			o.Command = strings.TrimSpace(fmt.Sprintf("torture claims --seed %d %s", o.Seed, strings.Join(args, " ")))
			screen := newClaimScreen(os.Stdout)
			res, dir, err := claims.Run(cmd.Context(), o, screen)
			if dir == "" {
				return err
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, "torture:", line(err))
			}
			screen.summary(res, relative(dir))
			fmt.Printf("report: %s\n", filepath.Join(relative(dir), "report.html"))
			if res.ExitCode != 0 {
				return exit(res.ExitCode)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&list, "list", false, "print the claims, and run none")
	f.BoolVar(&o.SelfTest, "self-test", false, "break what each claim rests on; its row must turn")
	f.Int64Var(&o.Seed, "seed", 0, "of all random choices (default: a random one, printed)")
	f.IntVar(&o.Parallel, "parallel", 0, "cases at once (default: four per core)")
	f.StringVar(&o.Provider, "provider", "auto", "what the servers run in: auto, container or process")
	f.StringArrayVar(&images, "image", nil, "another image, as redis=NAME, etcd=NAME or postgres=NAME; may be repeated")
	f.StringVar(&o.Results, "results", "results", "folder of the results; DIR/latest is the newest")
	return cmd
}

// checkClaims judges a saved run of claims again.
func checkClaims(ctx context.Context, dir string) error {
	res, err := claims.Check(ctx, dir)
	if err != nil {
		return err
	}
	screen := newClaimScreen(os.Stdout)
	for i, row := range res.Claims {
		screen.Row(i+1, len(res.Claims), row)
	}
	screen.summary(res, dir)
	if res.ExitCode != 0 {
		return exit(res.ExitCode)
	}
	return nil
}

func listClaims(ids []string) error {
	found, err := claims.Find(ids)
	if err != nil {
		return usage{err}
	}
	for _, c := range found {
		fmt.Printf("%-5s %s\n", c.ID, c.Says)
		for _, one := range c.Cases {
			name := ""
			if one.Name != "" {
				name = "(" + one.Name + ") "
			}
			fmt.Printf("      %s%s: %s\n", name, one.About, one.Expect)
		}
	}
	return nil
}
