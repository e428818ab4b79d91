package lock

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/cluster/clustertest"
	"github.com/torture-harness/torture/workloads/internal/await"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Main(m, nil)) }

// soon bounds what is expected to be answered.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

func wantUnknown(t *testing.T, what string, got error) {
	t.Helper()
	if !errors.As(got, new(Unknown)) {
		t.Fatalf("%s: %v, want an unknown outcome", what, got)
	}
}

// each does something to all servers at once.
func each(t *testing.T, servers []*cluster.Server, do func(*cluster.Server, context.Context) error) {
	t.Helper()
	ctx := soon(t)
	var all errgroup.Group
	for _, s := range servers {
		all.Go(func() error { return do(s, ctx) })
	}
	must(t, all.Wait())
}

// quiet returns once servers have read everything, so that what is sent to them
// when they are stopped can be told from what came before.
func quiet(t *testing.T, servers ...*cluster.Server) {
	t.Helper()
	for _, s := range servers {
		await.Read(t, s.Addr)
	}
}

// stopped stops servers until the end of the test.
func stopped(t *testing.T, servers ...*cluster.Server) {
	t.Helper()
	each(t, servers, (*cluster.Server).Stop)
	t.Cleanup(func() {
		for _, s := range servers {
			if s.State() == cluster.Stopped {
				must(t, s.Continue(soon(t)))
			}
		}
	})
}

// killed kills servers until the end of the test.
func killed(t *testing.T, servers ...*cluster.Server) {
	t.Helper()
	each(t, servers, (*cluster.Server).Kill)
	t.Cleanup(func() {
		for _, s := range servers {
			if s.State() == cluster.Killed {
				must(t, s.Restart(soon(t)))
			}
		}
	})
}

// take is one attempt.
func take(t *testing.T, l Locker, key string) (Lease, error) {
	t.Helper()
	return l.Acquire(soon(t), key, func(int64) {})
}

func mustTake(t *testing.T, l Locker, key string) Lease {
	t.Helper()
	lease, err := take(t, l, key)
	must(t, err)
	return lease
}
