package lock

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/internal/await"
)

// bench is one kind of lock on real servers, and a look at what they have.
type bench struct {
	open   func(t *testing.T, ttl time.Duration) Locker // a client of its own
	values func(t *testing.T, key string) []string      // what a key holds, on each server that has it
	nodes  int                                          // a majority of which must have it
}

// owner is the value that a majority has, "" if there is none.
func (b bench) owner(t *testing.T, key string) string {
	t.Helper()
	count := map[string]int{}
	for _, v := range b.values(t, key) {
		if count[v]++; count[v] > b.nodes/2 {
			return v
		}
	}
	return ""
}

func (b bench) wantOwner(t *testing.T, lease Lease) {
	t.Helper()
	if got := b.owner(t, lease.Key); got != lease.Value {
		t.Fatalf("the servers have %q, want %q", got, lease.Value)
	}
}

func (b bench) wantNothing(t *testing.T, key string) {
	t.Helper()
	if got := b.values(t, key); len(got) > 0 {
		t.Fatalf("the servers have %q, want nothing", got)
	}
}

func (b bench) awaitGone(t *testing.T, key string) {
	t.Helper()
	await.That(t, "the end of "+key, func() bool { return len(b.values(t, key)) == 0 })
}

// contract is what every locker must do.
func (b bench) contract(t *testing.T) {
	t.Run("take, be refused, give back, take again", b.takesAndGivesBack)
	t.Run("every attempt has a value of its own", b.freshValues)
	t.Run("a lease that has ended", b.endedLease)
	t.Run("contenders", b.contenders)
}

func (b bench) takesAndGivesBack(t *testing.T) {
	one, two, key := b.open(t, 10*time.Second), b.open(t, 10*time.Second), t.Name()
	first := mustTake(t, one, key)
	b.wantOwner(t, first)
	if first.Key != key || first.TTL != 10*time.Second {
		t.Errorf("the lease is %+v", first)
	}
	_, err := take(t, two, key)
	wantErr(t, "a second attempt", err, ErrHeld)
	b.wantOwner(t, first)
	must(t, one.Release(soon(t), first))
	b.wantNothing(t, key)

	second := mustTake(t, two, key)
	b.wantOwner(t, second)
	wantErr(t, "a second release of the first", one.Release(soon(t), first), ErrLost)
	b.wantOwner(t, second)
	must(t, two.Release(soon(t), second))
	b.wantNothing(t, key)
	wantErr(t, "a second release of the second", two.Release(soon(t), second), ErrLost)
}

func (b bench) freshValues(t *testing.T) {
	l, key := b.open(t, 10*time.Second), t.Name()
	seen := map[string]bool{}
	for range 5 {
		lease := mustTake(t, l, key)
		b.wantOwner(t, lease)
		if lease.Value == "" || seen[lease.Value] {
			t.Fatalf("the value %q names more than one holding", lease.Value)
		}
		seen[lease.Value] = true
		must(t, l.Release(soon(t), lease))
	}
}

// endedLease: the old holder finds out at its release, and takes nothing from
// the new one.
func (b bench) endedLease(t *testing.T) {
	old, next, key := b.open(t, time.Second), b.open(t, 10*time.Second), t.Name()
	ended := mustTake(t, old, key)
	b.awaitGone(t, key)
	if end := ended.Start + int64(ended.TTL) - int64(2*time.Millisecond); history.Now() < end {
		t.Errorf("it was gone %s before its lease's end", time.Duration(end-history.Now()))
	}
	live := mustTake(t, next, key)
	wantErr(t, "the release of the old lease", old.Release(soon(t), ended), ErrLost)
	b.wantOwner(t, live)
	must(t, next.Release(soon(t), live))
}

// holding is the time in which a lock was certainly held: from the answer to
// the end of the lease, or to the release.
type holding struct {
	by       int
	call     int64 // of the attempt that succeeded
	from, to int64
}

// contenders: of six that want one lock nobody gets a live one.
func (b bench) contenders(t *testing.T) {
	const (
		many      = 6
		handovers = 20
		ttl       = 3 * time.Second
	)
	key := t.Name()
	var lockers []Locker
	for range many {
		lockers = append(lockers, b.open(t, ttl))
	}
	first := b.open(t, 10*time.Second)
	held := mustTake(t, first, key)
	for _, l := range lockers {
		_, err := take(t, l, key)
		wantErr(t, "an attempt on a live lock", err, ErrHeld)
	}

	ctx, enough := context.WithCancel(soon(t))
	defer enough()
	var mu sync.Mutex
	var holdings []holding
	done := func(h holding) {
		mu.Lock()
		defer mu.Unlock()
		if holdings = append(holdings, h); changes(holdings) >= handovers {
			enough()
		}
	}
	var all sync.WaitGroup
	for i, l := range lockers {
		all.Go(func() { contend(t, ctx, l, key, i, done) })
	}
	must(t, first.Release(soon(t), held))
	all.Wait()

	if n := changes(holdings); n < handovers {
		t.Errorf("%d handovers, want %d", n, handovers)
	}
	// Were the waiting part of the attempt, one grant would not be told to be
	// older than the next, and a judge would see nothing.
	if n := unordered(holdings); n > len(holdings)/5 {
		t.Errorf("%d of %d grants overlap the one before", n, len(holdings))
	}
	for i, g := range holdings {
		for _, h := range holdings[:i] {
			if g.from < h.to && h.from < g.to {
				t.Errorf("contenders %d and %d both held the lock", g.by, h.by)
			}
		}
	}
}

// contend takes and gives back until ctx ends.
func contend(t *testing.T, ctx context.Context, l Locker, key string, me int, done func(holding)) {
	for l.Wait(ctx, key, true) == nil {
		h := holding{by: me}
		lease, err := l.Acquire(soon(t), key, func(int64) { h.call = history.Now() })
		h.from = history.Now()
		if errors.As(err, new(Unknown)) {
			t.Errorf("contender %d: %v", me, err)
			return
		}
		if err != nil {
			continue // refused
		}
		_ = Pause(ctx, 10*time.Millisecond) // work
		h.to = min(history.Now(), lease.Start+int64(lease.TTL)-int64(2*time.Millisecond))
		done(h)
		if err := l.Release(soon(t), lease); err != nil && !errors.Is(err, ErrLost) {
			t.Errorf("contender %d: %v", me, err)
		}
	}
}

func inOrder(holdings []holding) []holding {
	return slices.SortedFunc(slices.Values(holdings), func(a, b holding) int { return cmp.Compare(a.from, b.from) })
}

// changes counts how often the holder is another than the one before.
func changes(holdings []holding) int {
	sorted, n := inOrder(holdings), 0
	for i := 1; i < len(sorted); i++ {
		if sorted[i].by != sorted[i-1].by {
			n++
		}
	}
	return n
}

// unordered counts the grants whose attempt began before the grant before it
// was answered.
func unordered(holdings []holding) int {
	sorted, n := inOrder(holdings), 0
	for i := 1; i < len(sorted); i++ {
		if sorted[i].call <= sorted[i-1].from {
			n++
		}
	}
	return n
}

// startsBeforeSending: a lease that has begun on the server and not yet for us
// would be believed to last too long. Servers are those that l asks.
func startsBeforeSending(t *testing.T, l Locker, servers ...*cluster.Server) {
	t.Helper()
	must(t, l.Release(soon(t), mustTake(t, l, t.Name()+"/connect")))
	quiet(t, servers...)
	stopped(t, servers...)
	begun := history.Now()
	var told []int64
	taken := make(chan Lease, 1)
	ctx := soon(t)
	go func() {
		lease, err := l.Acquire(ctx, t.Name(), func(start int64) { told = append(told, start) })
		if err != nil {
			t.Error(err)
		}
		taken <- lease
	}()
	for _, s := range servers {
		await.Sent(t, s.Addr, 1)
	}
	sent := history.Now()
	each(t, servers, (*cluster.Server).Continue)
	lease := <-taken
	if lease.Start < begun || lease.Start > sent {
		t.Errorf("the lease begins %s after the request was seen", time.Duration(lease.Start-sent))
	}
	if len(told) != 1 || told[0] != lease.Start {
		t.Errorf("sent was told %v, want once %d", told, lease.Start)
	}
}
