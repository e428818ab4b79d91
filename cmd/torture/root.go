package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/torture-harness/torture/harness"
	"github.com/torture-harness/torture/harness/guardian"
)

// Exit codes that are not a status (see checkers.ExitCode).
const (
	exitUsage = 2
	exitError = 4
)

// exit is an error that only carries an exit code: all has been said already.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func run(args []string) int {
	// The guardian outlives Ctrl-C and its parent, so it is set up before
	// anything else of this program.
	if len(args) > 0 && args[0] == guardian.Command {
		return guardian.Main(args[1:])
	}
	if runtime.GOOS != "linux" {
		fmt.Fprintln(os.Stderr, "torture: it stops processes by pidfd and proves it from /proc, so it needs Linux (5.4 or newer)")
		return exitError
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	// The first signal heals, saves and judges what there is. A second one ends
	// the program at once; its guardian cleans up.
	context.AfterFunc(ctx, stop)
	err := root().ExecuteContext(ctx)
	var code exit
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	fmt.Fprintln(os.Stderr, "torture:", line(err))
	if errors.As(err, &harness.Usage{}) || isUsage(err) {
		return exitUsage
	}
	return exitError
}

// line puts an error, which may be several joined, into one line.
func line(err error) string {
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}

// usage is an error in the command line.
type usage struct{ error }

func isUsage(err error) bool { return errors.As(err, &usage{}) }

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "torture",
		Short: "Is this lock safe? Stops lock holders on real servers and looks for stale writes",
		Long: `torture starts real Redis, etcd and PostgreSQL, runs client processes that take
a lock, read a shared document, change it and write it back, and stops these
processes with SIGSTOP at exactly the wrong moment. Then it judges the recorded
histories: was the lock granted to two at once, and did an old holder overwrite
newer data?`,
		SilenceUsage: true, SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage{fmt.Errorf("unknown command %q; `torture --help` lists them", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.CompletionOptions.HiddenDefaultCmd = true
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage{fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())}
	})
	cmd.AddCommand(compareCommand(), claimsCommand(), exploreCommand(), replayCommand(), checkCommand(), exportCommand(), reportCommand(), listCommand(), doctorCommand(), cleanCommand(), imagesCommand(), versionCommand(), workerCommand())
	return cmd
}

// exactly is cobra.ExactArgs with the exit code of a usage error.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usage{fmt.Errorf("`%s` takes %s, not %d arguments; see `%s --help`", cmd.CommandPath(), what, len(args), cmd.CommandPath())}
		}
		return nil
	}
}
