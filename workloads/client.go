package workloads

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/guard"
	"github.com/torture-harness/torture/workloads/lock"
	"github.com/torture-harness/torture/workloads/outcome"
)

// Progress is what a client tells about an operation that matters to whoever
// arranges the faults. It decides no verdict.
type Progress struct {
	Kind        history.Kind    `json:"kind"`
	Worker      string          `json:"worker"`
	Resource    string          `json:"resource"`
	Outcome     history.Outcome `json:"outcome"`
	Call        int64           `json:"call"`
	Return      int64           `json:"return"`
	GrantCall   int64           `json:"grant_call"`             // interval of the acquisition it ran under,
	GrantReturn int64           `json:"grant_return"`           // or of its basis' read without a lock
	BasisReturn int64           `json:"basis_return,omitempty"` // of a write: when its basis had been read
}

// Pace is how fast a client works.
type Pace struct {
	Think time.Duration `json:"think"` // between read and write, ± 50 %
	Idle  time.Duration `json:"idle"`  // between two updates, ± 50 %
}

// Hooks is what a client needs from the process that it lives in.
type Hooks struct {
	NewID    func() string       // unique operation ids
	Record   func(history.Event) // returns once it is written
	Progress func(Progress)
	Points   *Breakpoints
}

// Client updates one resource again and again: acquire, read, think, change its
// own field, write the whole document, release.
type Client struct {
	Worker   string
	Resource string
	Row      int64
	Key      string // of its lock
	Strategy Strategy
	Locker   lock.Locker // nil without a lock
	Store    *Store
	Pace     Pace
	Patience time.Duration // the deadline of each request
	Rand     *rand.Rand
	Hooks

	incarnation int
}

// grant is the right under which an update runs.
type grant struct {
	id            string // "" without a lock
	lease         lock.Lease
	call, return_ int64
}

func (c *Client) name() string    { return c.Worker + "/" + c.Resource }
func (c *Client) process() string { return fmt.Sprintf("%s#%d", c.name(), c.incarnation+1) }

// Run updates until ctx ends; an update that has begun is finished.
func (c *Client) Run(ctx context.Context) {
	defer c.Store.Close()
	_ = lock.Pause(ctx, time.Duration(c.Rand.Int64N(int64(c.Pace.Idle)+1)))
	for ctx.Err() == nil {
		c.update(ctx)
		_ = lock.Pause(ctx, c.around(c.Pace.Idle))
	}
}

func (c *Client) around(d time.Duration) time.Duration {
	return d/2 + time.Duration(c.Rand.Int64N(int64(d)+1))
}

func (c *Client) update(ctx context.Context) {
	g := &grant{}
	if c.Locker != nil {
		if g = c.acquire(ctx); g == nil {
			return
		}
		c.reach(AfterAcquire)
	}
	if entry, ok := c.enter(g); ok {
		_ = lock.Pause(context.Background(), c.around(c.Pace.Think))
		c.reach(AfterRead)
		if c.check(g) {
			c.write(g, entry)
		}
	}
	if c.Locker != nil {
		c.reach(BeforeRelease)
		c.release(g)
	}
}

// reach waits at a point if it is armed. The update is finished whatever comes,
// so only the word to go on ends it.
func (c *Client) reach(point string) {
	if c.Points.Reach(context.Background(), point, c.name(), c.Resource) {
		c.Record(history.Event{Type: history.TypeLeave, Time: history.Now(), Worker: c.Worker, Client: c.name(), Resource: c.Resource, Point: point})
	}
}

// acquire tries until it has the lock, or nil once ctx ends.
func (c *Client) acquire(ctx context.Context) *grant {
	c.Record(history.Event{Type: history.TypeWant, Time: history.Now(), Worker: c.Worker, Client: c.name(), Resource: c.Resource})
	for again := false; ; again = true {
		if err := c.Locker.Wait(ctx, c.Key, again); err != nil {
			c.Record(history.Event{Type: history.TypeGiveUp, Time: history.Now(), Worker: c.Worker, Client: c.name(), Resource: c.Resource})
			return nil
		}
		if g := c.attempt(); g != nil {
			return g
		}
	}
}

func (c *Client) attempt() *grant {
	op := c.operation(history.Acquire)
	request, cancel := context.WithTimeout(context.Background(), c.Patience)
	defer cancel()
	begun := false
	lease, err := c.Locker.Acquire(request, c.Key, func(int64) {
		begun = true
		op.begin(history.Event{})
	})
	done := history.Event{Time: history.Now()}
	switch {
	case err == nil:
		done.Outcome, done.Grant = history.OK, op.id
		done.Token, done.LeaseCall, done.LeaseTTL = lease.Token, lease.Start, int64(lease.TTL)
		op.end(done)
		g := &grant{id: op.id, lease: lease, call: op.call, return_: done.Time}
		c.Progress(Progress{Kind: history.Acquire, Worker: c.Worker, Resource: c.Resource, Outcome: history.OK,
			Call: op.call, Return: done.Time, GrantCall: op.call, GrantReturn: done.Time})
		return g
	case !begun:
		c.Record(history.Event{Type: history.TypeNote, Time: done.Time, Worker: c.Worker, Client: c.name(), Resource: c.Resource,
			Note: "the acquisition failed before the lock was asked for: " + err.Error()})
	default:
		done.Outcome, done.Error = lockOutcome(err), err.Error()
		op.end(done)
	}
	return nil
}

// enter reads the document, or raises the fence and reads.
func (c *Client) enter(g *grant) (basis, bool) {
	kind := history.Read
	if c.Strategy.Guard.Claims {
		kind = history.Claim
	}
	b, out := c.read(g, kind)
	if kind == history.Claim && out == history.Rejected {
		c.read(g, history.Read) // tells a missing row from a stale token
	}
	return b, out == history.OK
}

// basis is what an update is computed from, and the read that returned it.
type basis struct {
	guard.Entry
	call, return_ int64
}

func (c *Client) read(g *grant, kind history.Kind) (basis, history.Outcome) {
	op := c.operation(kind)
	request, cancel := context.WithTimeout(context.Background(), c.Patience)
	defer cancel()
	conn, err := c.Store.Conn(request)
	start := history.Event{Grant: g.id}
	if kind == history.Claim {
		start.Token = g.lease.Token
	}
	op.begin(start)
	var entry guard.Entry
	switch {
	case err != nil:
	case kind == history.Claim:
		entry, err = c.Strategy.Guard.Guard.Enter(request, conn, c.Row, g.lease.Token)
	default:
		entry, err = guard.Read(request, conn, c.Row)
	}
	done := history.Event{Time: history.Now(), Outcome: storeOutcome(err)}
	if err != nil {
		done.Error = err.Error()
	} else {
		done.WriteID, done.Version = entry.Document.WriteID, entry.Version
	}
	c.after(done.Outcome)
	op.end(done)
	return basis{Entry: entry, call: op.call, return_: done.Time}, done.Outcome
}

// check asks the lock's server once more, if the strategy does so.
func (c *Client) check(g *grant) bool {
	if !c.Strategy.Check {
		return true
	}
	op := c.operation(history.Check)
	request, cancel := context.WithTimeout(context.Background(), c.Patience)
	defer cancel()
	op.begin(history.Event{Grant: g.id})
	err := c.Locker.(lock.Checker).Check(request, g.lease)
	op.endLock(err)
	c.after(lockOutcome(err))
	if err != nil {
		return false
	}
	c.reach(AfterCheck)
	return true
}

func (c *Client) write(g *grant, b basis) {
	op := c.operation(history.Write)
	doc := b.Document
	if doc.Fields == nil {
		doc.Fields = map[string]int{}
	}
	doc.Fields[c.name()]++
	doc.WriteID, doc.Grant, doc.Basis = op.id, g.id, b.Document.WriteID
	u := guard.Update{ID: c.Row, Document: doc, Token: g.lease.Token, Version: b.Version}

	// The deadline begins here, behind every breakpoint.
	request, cancel := context.WithTimeout(context.Background(), c.Patience)
	defer cancel()
	conn, err := c.Store.Conn(request)
	op.begin(history.Event{Grant: g.id, WriteID: op.id, Basis: doc.Basis, Token: u.Token, Version: u.Version})
	if err == nil {
		err = c.Strategy.Guard.Guard.Write(request, conn, u)
	}
	done := history.Event{Time: history.Now(), Outcome: storeOutcome(err)}
	if err != nil {
		done.Error = err.Error()
	}
	c.after(done.Outcome)
	op.end(done)
	p := Progress{Kind: history.Write, Worker: c.Worker, Resource: c.Resource, Outcome: done.Outcome, Call: op.call, Return: done.Time,
		GrantCall: g.call, GrantReturn: g.return_, BasisReturn: b.return_}
	if g.id == "" {
		p.GrantCall, p.GrantReturn = b.call, b.return_
	}
	c.Progress(p)
	if done.Outcome == history.Rejected {
		c.read(g, history.Read) // tells a missing row from a stale write
	}
}

func (c *Client) release(g *grant) {
	op := c.operation(history.Release)
	request, cancel := context.WithTimeout(context.Background(), c.Patience)
	defer cancel()
	op.begin(history.Event{Grant: g.id})
	err := c.Locker.Release(request, g.lease)
	op.endLock(err)
	c.after(lockOutcome(err))
}

// after drops a connection that cannot be trusted any more. The grant is
// finished too: no path leads from an unknown outcome to a write.
func (c *Client) after(out history.Outcome) {
	if out == history.Info {
		c.Store.Drop()
	}
}

func lockOutcome(err error) history.Outcome {
	switch {
	case err == nil:
		return history.OK
	case errors.Is(err, lock.ErrLost):
		return history.Lost
	case errors.As(err, new(lock.Unknown)):
		return history.Info
	default:
		return history.Fail
	}
}

func storeOutcome(err error) history.Outcome {
	switch {
	case errors.Is(err, guard.ErrRejected):
		return history.Rejected
	case errors.Is(err, guard.ErrMissing):
		return history.Fail
	default:
		return outcome.Postgres(err)
	}
}
