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
	return StartOn(t, cluster.NewProcesses(), spec)
}

// StartOn is Start with a provider. A spec with a guardian (and its RunID) is
// one of several clusters of one run, told apart by their names.
func StartOn(t testing.TB, p cluster.Provider, spec cluster.Spec) *cluster.Cluster {
	t.Helper()
	if spec.Guardian == nil {
		spec.Guardian = Guardian(t)
		spec.RunID = spec.Guardian.RunID()
	}
	spec.Dir = t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := p.Start(ctx, spec)
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

// Guardian starts the guardian of a run of its own for one test, and fails it if
// something of the run is left at its end.
func Guardian(t testing.TB) *guardian.Guardian {
	t.Helper()
	g, err := guardian.Open(fmt.Sprintf("test%08x", rand.Uint32()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Errorf("something was left: %v", err)
		}
	})
	return g
}
