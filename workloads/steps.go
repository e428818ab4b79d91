package workloads

import (
	"cmp"
	"context"
	"errors"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/gate"
	"github.com/torture-harness/torture/workloads/guard"
	"github.com/torture-harness/torture/workloads/lock"
	"github.com/torture-harness/torture/workloads/outcome"
	"github.com/torture-harness/torture/workloads/point"
)

// request bounds one request, and lets it be held inside.
func (c *Client) request(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(point.With(ctx, c.reach), c.Patience)
}

// forEver is a number of tries.
const forEver = -1

// acquire tries until it has the lock, has tried often enough, or ctx ends; then
// the grant is nil.
func (c *Client) acquire(ctx context.Context, tries int) (g *grant, last Done, tried int) {
	c.note(history.TypeWant)
	for tried != tries {
		if err := c.Locker.Wait(ctx, c.Key, tried > 0); err != nil {
			break
		}
		tried++
		if g, last = c.attempt(ctx); g != nil {
			return g, last, tried
		}
	}
	c.note(history.TypeGiveUp)
	return nil, last, tried
}

func (c *Client) note(what history.Type) {
	c.Record(history.Event{Type: what, Time: history.Now(), Worker: c.Worker, Client: c.name(), Resource: c.Resource})
}

func (c *Client) attempt(ctx context.Context) (*grant, Done) {
	op := c.operation(history.Acquire)
	// An attempt that has begun is finished, unless whoever plays us gives it up.
	request, cancel := c.request(c.script.orWhole(ctx))
	defer cancel()
	if c.Points.Armed(AcquireMid, c.Resource) {
		request = gate.With(request, c.Strategy.Locker.Needs.Redis, func() { c.reach(AcquireMid) })
	}
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
		g := &grant{id: op.id, lease: lease, call: op.call, return_: done.Time}
		d := op.end(done)
		c.beginRenewing(g)
		c.Progress(Progress{Kind: history.Acquire, Worker: c.Worker, Resource: c.Resource, Outcome: history.OK,
			Call: op.call, Return: done.Time, GrantCall: op.call, GrantReturn: done.Time})
		return g, d
	case !begun:
		c.Record(history.Event{Type: history.TypeNote, Time: done.Time, Worker: c.Worker, Client: c.name(), Resource: c.Resource,
			Note: "the acquisition failed before the lock was asked for: " + err.Error()})
		return nil, Done{Kind: history.Acquire, Outcome: history.Fail, Return: done.Time, Error: err.Error()}
	default:
		done.Outcome, done.Error = lockOutcome(err), err.Error()
		return nil, op.end(done)
	}
}

// holder is who the grant makes its client in the eyes of the store.
func (g *grant) holder() guard.Holder {
	return guard.Holder{Token: g.lease.Token, Value: g.lease.Value}
}

// basis is what an update is computed from, and the read that returned it.
type basis struct {
	guard.Entry
	call, return_ int64
}

// read reads the row, or claims it, as the guard's Enter does.
func (c *Client) read(ctx context.Context, g *grant, kind history.Kind, by GuardKind) (basis, Done) {
	op := c.operation(kind)
	request, cancel := c.request(ctx)
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
	case kind == history.Read && by.Claims:
		entry, err = guard.Read(request, conn, c.Row)
	default:
		entry, err = by.Guard.Enter(request, conn, c.Row, g.holder())
	}
	done := history.Event{Time: history.Now(), Outcome: storeOutcome(err)}
	if err != nil {
		done.Error = err.Error()
	} else {
		done.WriteID, done.Version = entry.Document.WriteID, entry.Version
	}
	c.after(done.Outcome)
	d := op.end(done)
	return basis{Entry: entry, call: op.call, return_: done.Time}, d
}

// check asks the lock's server whether the lock is still ours.
func (c *Client) check(ctx context.Context, g *grant) Done {
	op := c.operation(history.Check)
	request, cancel := c.request(ctx)
	defer cancel()
	op.begin(history.Event{Grant: g.id})
	return op.endLock(c.Locker.(lock.Checker).Check(request, g.lease))
}

// draw draws the fencing token of a grant whose locker gives it afterwards.
func (c *Client) draw(ctx context.Context, g *grant) Done {
	op := c.operation(history.Draw)
	request, cancel := c.request(ctx)
	defer cancel()
	op.begin(history.Event{Grant: g.id})
	token, err := c.Locker.(lock.Tokener).Token(request, g.lease)
	done := history.Event{Time: history.Now(), Outcome: lockOutcome(err), Token: token}
	if err != nil {
		done.Error = err.Error()
	} else {
		g.lease.Token = token
	}
	return op.end(done)
}

// renew prolongs the lease of a grant.
func (c *Client) renew(ctx context.Context, g *grant) Done {
	op := c.operation(history.Renew)
	request, cancel := c.request(ctx)
	defer cancel()
	op.begin(history.Event{Grant: g.id})
	lease, err := c.Locker.(lock.Renewer).Renew(request, g.lease)
	done := history.Event{Time: history.Now(), Outcome: lockOutcome(err)}
	if err != nil {
		done.Error = err.Error()
	} else {
		g.lease = lease
		done.LeaseCall, done.LeaseTTL = lease.Start, int64(lease.TTL)
	}
	return op.end(done)
}

// write writes what was computed from b back through a guard.
func (c *Client) write(ctx context.Context, g *grant, b basis, by GuardKind) Done {
	op := c.operation(history.Write)
	doc := b.Document.With(c.name())
	doc.WriteID, doc.Grant, doc.Basis = op.id, g.id, b.Document.WriteID
	u := guard.Update{ID: c.Row, Document: doc, Token: g.lease.Token, Value: g.lease.Value, Key: g.lease.Key, Version: b.Version, Request: cmp.Or(c.script.request, op.id)}

	// The deadline begins here, behind every breakpoint.
	request, cancel := c.request(ctx)
	defer cancel()
	conn, err := c.Store.Conn(request)
	op.begin(history.Event{Grant: g.id, WriteID: op.id, Basis: doc.Basis, Token: u.Token, Version: u.Version})
	if err == nil {
		err = by.Guard.Write(request, conn, u)
	}
	done := history.Event{Time: history.Now(), Outcome: storeOutcome(err)}
	if err != nil {
		done.Error = err.Error()
	}
	c.after(done.Outcome)
	d := op.end(done)
	p := Progress{Kind: history.Write, Worker: c.Worker, Resource: c.Resource, Outcome: done.Outcome, Call: op.call, Return: done.Time,
		GrantCall: g.call, GrantReturn: g.return_, BasisReturn: b.return_}
	if g.id == "" {
		p.GrantCall, p.GrantReturn = b.call, b.return_
	}
	c.Progress(p)
	if done.Outcome == history.Rejected {
		look := plain
		if by.Needs.Etcd { // the rows are there
			look = by
		}
		c.read(ctx, g, history.Read, look) // tells a missing row from a stale write
	}
	return d
}

// leave ends what the guard's Enter has left open, if there will be no write.
func (c *Client) leave(ctx context.Context, by GuardKind) {
	leaver, ok := by.Guard.(guard.Leaver)
	if !ok {
		return
	}
	request, cancel := c.request(ctx)
	defer cancel()
	conn, err := c.Store.Conn(request)
	if err == nil {
		err = leaver.Leave(request, conn)
	}
	if err != nil {
		c.Store.Drop() // the end of the session ends it too
	}
}

func (c *Client) release(ctx context.Context, g *grant) Done {
	c.endRenewing(g)
	op := c.operation(history.Release)
	request, cancel := c.request(ctx)
	defer cancel()
	op.begin(history.Event{Grant: g.id})
	return op.endLock(c.Locker.Release(request, g.lease))
}

// after drops a connection that cannot be trusted any more. The grant is
// finished too: no path of Run leads from an unknown outcome to a write.
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
	case errors.Is(err, guard.ErrMissing), errors.Is(err, guard.ErrRolledBack):
		return history.Fail
	default:
		return outcome.Postgres(err)
	}
}
