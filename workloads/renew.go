package workloads

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/lock"
)

// Renewal prolongs the lease of one grant every TTL/3, until it is stopped or
// knows that the lease is lost: the server said so, or nothing was acknowledged
// until its end. It asks and tells nobody else, so it knows only what it has
// been told by the time somebody looks.
type Renewal struct {
	lost atomic.Bool
	stop context.CancelFunc
	done chan struct{}
}

// Renewed is what a Renewal needs to know of whom it works for.
type Renewed struct {
	Held
	Worker string // the process in which it runs
	Locker lock.Renewer
	NewID  func() string
	Record func(history.Event)
	// First, if it is set, has the first renewal made at once, and is told
	// whether it succeeded: a handover is complete only then.
	First func(kept bool)
}

// StartRenewal begins; the first request comes after a third of the lease, or at
// once if somebody waits for it.
func StartRenewal(r Renewed) *Renewal {
	ctx, stop := context.WithCancel(context.Background())
	n := &Renewal{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(n.done)
		n.run(ctx, r)
	}()
	return n
}

// Stop lets the request in hand be the last.
func (n *Renewal) Stop() { n.stop() }

// End stops it and waits for the request in hand, so that no answer to it comes
// behind a release.
func (n *Renewal) End() {
	n.stop()
	<-n.done
}

func (n *Renewal) run(ctx context.Context, r Renewed) {
	lease := r.Lease
	wait := lease.TTL / 3
	first := func() {}
	if r.First != nil {
		wait, first = 0, sync.OnceFunc(func() { r.First(!n.lost.Load()) })
	}
	for failures := 0; lock.Pause(ctx, wait) == nil; {
		left := time.Duration(lease.Start + int64(lease.TTL) - history.Now())
		next, err := r.once(lease, max(left, 0), failures)
		switch {
		case err == nil:
			lease, wait = next, next.TTL/3
			first()
			continue
		case errors.Is(err, lock.ErrLost), history.Now() >= lease.Start+int64(lease.TTL):
			n.lost.Store(true)
			first()
			return
		}
		if errors.As(err, new(lock.Unknown)) {
			failures++
		}
		wait = lease.TTL / 20
	}
}

// once is one renewal, recorded under the grant by a process of its own; a new
// one after each unknown outcome. What is not answered by the end of the lease
// is not waited for.
func (r Renewed) once(lease lock.Lease, left time.Duration, incarnation int) (lock.Lease, error) {
	ctx, cancel := context.WithTimeout(context.Background(), left)
	defer cancel()
	id := r.NewID()
	r.Record(history.Event{Type: history.TypeInvoke, Time: history.Now(), Op: id, Kind: history.Renew, Grant: r.Grant,
		Process: fmt.Sprintf("%s~%s#%d", r.Client, r.Grant, incarnation+1), Worker: r.Worker, Client: r.Client, Resource: r.Resource})
	next, err := r.Locker.Renew(ctx, lease)
	done := history.Event{Type: history.TypeComplete, Time: history.Now(), Op: id, Outcome: lockOutcome(err)}
	if err != nil {
		done.Error = err.Error()
	} else {
		done.LeaseCall, done.LeaseTTL = next.Start, int64(next.TTL)
	}
	r.Record(done)
	return next, err
}

// beginRenewing has the lease of a fresh grant prolonged, if the strategy does so.
func (c *Client) beginRenewing(g *grant) {
	held := Held{Client: c.name(), Grant: g.id, Lease: g.lease, Resource: c.Resource}
	switch c.Strategy.Renew {
	case RenewInside:
		g.renewal = StartRenewal(Renewed{Held: held, Worker: c.Worker,
			Locker: c.Locker.(lock.Renewer), NewID: c.NewID, Record: c.Record})
	case RenewOutside:
		g.lost = c.HandOver != nil && !c.HandOver(held)
	}
}

// endRenewing has it prolonged no more.
func (c *Client) endRenewing(g *grant) {
	if g.renewal != nil {
		g.renewal.End()
	}
	if c.Strategy.Renew == RenewOutside && c.TakeBack != nil {
		c.TakeBack(Held{Client: c.name(), Grant: g.id, Resource: c.Resource})
	}
}

// lostByLibrary is a locker whose library keeps the lease alive, and tells when
// it has learnt that it is over.
type lostByLibrary interface {
	Lost(lock.Lease) <-chan struct{}
}

// knownLost reports whether this process has been told that the lease is over,
// and heeds it. It asks nobody.
func (c *Client) knownLost(g *grant) bool {
	if c.Strategy.Ignore {
		return false
	}
	if g.lost || g.renewal != nil && g.renewal.lost.Load() {
		return true
	}
	if library, ok := c.Locker.(lostByLibrary); ok && c.Strategy.Renew == RenewLibrary {
		select {
		case <-library.Lost(g.lease):
			return true
		default:
		}
	}
	return false
}

// looks reports whether a client makes sure of its lock before it writes.
func (s Strategy) looks() bool {
	return s.Check || !s.Ignore && s.Renew != RenewNever
}
