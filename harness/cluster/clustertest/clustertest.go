// Package clustertest gives tests real servers.
package clustertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/guardian"
)

// Main is for TestMain: the test binary also plays the guardian, and whatever
// else the program is when called with another first argument. State of runs is
// kept in a folder of its own.
func Main(m *testing.M, roles map[string]func() int) int {
	if len(os.Args) > 1 {
		if os.Args[1] == guardian.Command {
			return guardian.Main(os.Args[2:])
		}
		if role := roles[os.Args[1]]; role != nil {
			return role()
		}
	}
	signal.Ignore(syscall.SIGPIPE)
	state, err := os.MkdirTemp("", "torture-test-state-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(state)
	if err := os.Setenv("XDG_STATE_HOME", state); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// Start starts servers as local processes for one test, and fails it if any of
// them is left at its end.
func Start(t testing.TB, spec cluster.Spec) *cluster.Cluster {
	t.Helper()
	spec.RunID = fmt.Sprintf("test%08x", rand.Uint32())
	g, err := guardian.Open(spec.RunID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Errorf("something was left: %v", err)
		}
	})
	spec.Guardian, spec.Dir = g, t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := cluster.NewProcesses().Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		closing, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.Close(closing); err != nil {
			t.Error(err)
		}
	})
	return c
}
