package lock

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/cluster/clustertest"
	"github.com/torture-harness/torture/workloads/internal/await"
)

func openRedlock(t *testing.T, servers []*cluster.Server, ttl time.Duration) *Redlock {
	t.Helper()
	var at []Server
	for _, s := range servers {
		at = append(at, serverOf(s))
	}
	l := NewRedlock(at, ttl, patience, 1, NewJitter(1, 1))
	t.Cleanup(func() { must(t, l.Close()) })
	return l
}

func TestRedlock(t *testing.T) {
	t.Parallel() // each has servers of its own
	nodes := clustertest.Start(t, cluster.Spec{Redis: 5}).Redis
	values := valuesOf(nodes)
	b := bench{
		open: func(t *testing.T, ttl time.Duration) Locker {
			l := openRedlock(t, nodes, ttl)
			l.perNode = patience // what a busy machine makes of TTL/10 is of no interest here
			return l
		},
		values: values, nodes: len(nodes),
	}
	b.contract(t)
	t.Run("the lease begins before the requests are sent", func(t *testing.T) {
		startsBeforeSending(t, openRedlock(t, nodes, patience), nodes...)
	})

	gone := map[string]func(*testing.T, ...*cluster.Server){"killed": killed, "stopped": stopped}
	for how, remove := range gone {
		for reachable := 5; reachable >= 2; reachable-- {
			t.Run(fmt.Sprintf("%d of 5, the others %s", reachable, how), func(t *testing.T) {
				l, key := openRedlock(t, nodes, 5*time.Second), t.Name()
				remove(t, nodes[reachable:]...)
				lease, err := take(t, l, key)
				if reachable < 3 {
					if err == nil || errors.As(err, new(Unknown)) {
						t.Fatalf("a minority: %v, want a certain failure", err)
					}
					b.wantNothing(t, key)
					return
				}
				must(t, err)
				if got := values(t, key); len(got) != reachable {
					t.Errorf("%d nodes have the key", len(got))
				}
				b.wantOwner(t, lease)
				must(t, l.Release(soon(t), lease))
				b.wantNothing(t, key)
			})
		}
	}

	// The SETs of three nodes are answered only after the lease's end. They say
	// yes, so a majority does; but nothing is left of the lease.
	t.Run("an acquisition that takes too long", func(t *testing.T) {
		const ttl = 2 * time.Second
		l, key := openRedlock(t, nodes, ttl), t.Name()
		l.perNode = patience // the answers shall be read, not given up
		must(t, l.Release(soon(t), mustTake(t, l, key+"/connect")))
		quiet(t, nodes[2:]...)
		stopped(t, nodes[2:]...)
		attempted := make(chan error, 1)
		go func() {
			_, err := take(t, l, key)
			attempted <- err
		}()
		for _, s := range nodes[2:] {
			await.Sent(t, s.Addr, 1)
		}
		await.That(t, "the keys on the two fast nodes", func() bool { return len(values(t, key)) == 2 })
		b.awaitGone(t, key)
		each(t, nodes[2:], (*cluster.Server).Continue)
		err := <-attempted
		if err == nil || errors.Is(err, ErrHeld) || errors.As(err, new(Unknown)) {
			t.Fatalf("an acquisition longer than its lease: %v, want a certain failure", err)
		}
		b.wantNothing(t, key) // where the lease has just begun
	})

	// Fast as the nodes may be, the clocks may have gained what is left.
	t.Run("the drift leaves nothing", func(t *testing.T) {
		l, key := openRedlock(t, nodes, 2*time.Millisecond), t.Name()
		l.perNode = patience
		for range 100 {
			if _, err := take(t, l, key); err == nil || errors.As(err, new(Unknown)) {
				t.Fatalf("a lease shorter than the drift: %v, want a certain failure", err)
			}
		}
	})

	t.Run("two at once", func(t *testing.T) {
		key := t.Name()
		both := []*Redlock{openRedlock(t, nodes, 5*time.Second), openRedlock(t, nodes, 5*time.Second)}
		took := 0
		for range 30 {
			var leases [2]Lease
			var errs [2]error
			var race sync.WaitGroup
			for i, l := range both {
				race.Go(func() { leases[i], errs[i] = take(t, l, key) })
			}
			race.Wait()
			for i, err := range errs {
				switch {
				case err == nil:
					took++
					b.wantOwner(t, leases[i])
					must(t, both[i].Release(soon(t), leases[i]))
				case !errors.Is(err, ErrHeld):
					t.Fatal(err)
				}
			}
			if errs[0] == nil && errs[1] == nil {
				t.Fatal("both took the lock")
			}
			b.wantNothing(t, key) // neither the winner's nor the loser's
		}
		if took == 0 {
			t.Error("nobody ever took the lock")
		}
	})

	t.Run("waiting asks until the key is gone", func(t *testing.T) {
		l, key := openRedlock(t, nodes, 5*time.Second), t.Name()
		must(t, l.Wait(soon(t), key, false)) // nobody holds it
		lease := mustTake(t, l, key)
		asked := questions(t, nodes)
		before := asked()
		waited := make(chan error, 1)
		ctx := soon(t)
		go func() { waited <- l.Wait(ctx, key, false) }()
		await.That(t, "three questions", func() bool { return asked() >= before+3 })
		select {
		case err := <-waited:
			t.Fatalf("the wait for a held lock has ended: %v", err)
		default:
		}
		must(t, l.Release(soon(t), lease))
		must(t, <-waited)
	})

	t.Run("a release that the silent node decides", func(t *testing.T) { silentNodeDecides(t, nodes) })

	// "Lost" would accuse somebody of having removed a live lease.
	for how, remove := range gone {
		t.Run("a release with a majority "+how, func(t *testing.T) {
			l := openRedlock(t, nodes, 5*time.Second)
			lease := mustTake(t, l, t.Name())
			remove(t, nodes[2:]...)
			wantUnknown(t, "the release", l.Release(soon(t), lease))
		})
		t.Run("a lost lock with a minority "+how, func(t *testing.T) {
			l := openRedlock(t, nodes, 5*time.Second)
			lease := mustTake(t, l, t.Name())
			must(t, l.Release(soon(t), lease))
			remove(t, nodes[3:]...)
			wantErr(t, "the release", l.Release(soon(t), lease), ErrLost)
		})
	}
}

// silentNodeDecides: two nodes had the key, two had not, and what the fifth has
// makes it a majority or not.
func silentNodeDecides(t *testing.T, nodes []*cluster.Server) {
	l := openRedlock(t, nodes, 5*time.Second)
	lease := mustTake(t, l, t.Name())
	for _, s := range nodes[:2] {
		must(t, look(t, s).Del(soon(t), lease.Key).Err())
	}
	stopped(t, nodes[4])
	wantUnknown(t, "the release", l.Release(soon(t), lease))
}

// questions returns a count of the EXISTS that all nodes have answered.
func questions(t *testing.T, nodes []*cluster.Server) func() int {
	t.Helper()
	var clients []*redis.Client
	for _, s := range nodes {
		clients = append(clients, look(t, s))
	}
	return func() int {
		sum := 0
		for _, c := range clients {
			stats, err := c.Info(soon(t), "commandstats").Result()
			must(t, err)
			if _, rest, found := strings.Cut(stats, "cmdstat_exists:calls="); found {
				count, _, _ := strings.Cut(rest, ",")
				n, err := strconv.Atoi(count)
				must(t, err)
				sum += n
			}
		}
		return sum
	}
}

// 1 % of the lease and 2 ms, as in the published implementations.
func TestRedlockDrift(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{
		time.Second:      12 * time.Millisecond,
		30 * time.Second: 302 * time.Millisecond,
	} {
		if got := NewRedlock(nil, ttl, patience, 1, NewJitter(1, 1)).Drift(); got != want {
			t.Errorf("the drift of %s is %s, want %s", ttl, got, want)
		}
	}
}
