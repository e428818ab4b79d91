package lock

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/cluster/clustertest"
)

// TestOneSessionWaitsForNobody: on a shared session a first attempt is made
// although the lock is held, for the holder may be on the same session; and
// whoever was refused waits for the end of the holding.
func TestOneSessionWaitsForNobody(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, cluster.Spec{Etcd: 1})
	l, err := NewEtcdMutex([]string{c.Etcd[0].Addr}, "", 20*time.Second, NewJitter(1, 1), OneSession())
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	held := mustTake(t, l, "k")
	l.keys.update(func(keys map[string]bool) { keys["k/holder"] = true }) // whether the watch was fast enough or not
	must(t, l.Wait(soon(t), "k", false))
	ended, cancel := context.WithCancel(soon(t))
	cancel()
	if err := l.Wait(ended, "k", true); !errors.Is(err, context.Canceled) {
		t.Errorf("it does not wait behind a refusal: %v", err)
	}
	must(t, l.Release(soon(t), held))
}
