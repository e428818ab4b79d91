package workloads

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/lock"
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
	// HandOver and TakeBack tell a renewer in another process which grant to
	// prolong, and when no longer; nil if there is none.
	HandOver func(Held) (kept bool) // returns once the lease has been prolonged, or is lost
	TakeBack func(Held)
}

// Client updates one resource: acquire, read, think, change its own field,
// write the whole document, release. Run does so again and again; Play does
// single steps as it is told.
type Client struct {
	Worker   string
	Alias    string // its name, if it is not the worker's and the resource's
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
	acting      string // its own name, while it acts for another
	script      script
}

// grant is the right under which an update runs.
type grant struct {
	id            string // "" without a lock
	lease         lock.Lease
	call, return_ int64
	lost          bool     // it was lost before somebody else could prolong it
	renewal       *Renewal // nil if nobody in this process renews
}

func (c *Client) name() string {
	if c.Alias != "" {
		return c.Alias
	}
	return c.Worker + "/" + c.Resource
}

func (c *Client) process() string {
	if c.acting != "" {
		return fmt.Sprintf("%s#%d", c.acting, c.incarnation+1)
	}
	return fmt.Sprintf("%s#%d", c.name(), c.incarnation+1)
}

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

// update is one update. Only the waiting for the lock ends with ctx.
func (c *Client) update(ctx context.Context) {
	var old *basis
	c.underLock(ctx, func(whole context.Context, g *grant) { old = c.change(whole, g) })
	if old != nil && c.Strategy.RetryOld {
		c.underLock(ctx, func(whole context.Context, g *grant) { c.write(whole, g, *old, c.entry()) })
	}
}

// underLock does something under a fresh grant. What has begun is finished.
func (c *Client) underLock(ctx context.Context, do func(context.Context, *grant)) {
	whole := context.WithoutCancel(ctx)
	g := &grant{}
	if c.Locker != nil {
		if g, _, _ = c.acquire(ctx, forEver); g == nil {
			return
		}
		c.reach(AfterAcquire)
	}
	do(whole, g)
	if c.Locker != nil {
		c.reach(BeforeRelease)
		c.release(whole, g)
	}
}

// change reads, thinks and writes. It returns what it had read if the store
// refused it.
func (c *Client) change(ctx context.Context, g *grant) (refused *basis) {
	// A claim carries the token. Otherwise it is drawn when it is needed.
	if c.Strategy.Guard.Claims && !c.hasToken(ctx, g) {
		return nil
	}
	b, ok := c.enter(ctx, g)
	if !ok {
		return nil
	}
	_ = lock.Pause(ctx, c.around(c.Pace.Think))
	c.reach(AfterRead)
	if !c.Strategy.Guard.Claims && !c.hasToken(ctx, g) || !c.mayWrite(ctx, g) {
		c.leave(ctx, c.Strategy.Guard)
		return nil
	}
	if c.write(ctx, g, b, c.entry()).Outcome == history.Rejected {
		return &b
	}
	return nil
}

// entry is the guard of the next write: the strategy's, or by chance its second
// entry.
func (c *Client) entry() GuardKind {
	if c.Strategy.Bypass != nil && c.Rand.IntN(2) == 0 {
		return *c.Strategy.Bypass
	}
	return c.Strategy.Guard
}

// hasToken draws the token of a grant, if its locker gives it afterwards.
func (c *Client) hasToken(ctx context.Context, g *grant) bool {
	if !c.Strategy.Locker.Draws {
		return true
	}
	c.reach(BeforeToken)
	return c.draw(ctx, g).Outcome == history.OK
}

// enter reads the document, or raises the fence and reads.
func (c *Client) enter(ctx context.Context, g *grant) (basis, bool) {
	kind := history.Read
	if c.Strategy.Guard.Claims {
		kind = history.Claim
	}
	b, done := c.read(ctx, g, kind, c.Strategy.Guard)
	if kind == history.Claim && done.Outcome == history.Rejected {
		c.read(ctx, g, history.Read, plain) // tells a missing row from a stale token
	}
	return b, done.Outcome == history.OK
}

// mayWrite looks once more whether the lock is still ours, if the strategy does
// so: it asks the lock's server, or whoever renews.
func (c *Client) mayWrite(ctx context.Context, g *grant) bool {
	if !c.Strategy.looks() {
		return true
	}
	if c.Strategy.Check && c.check(ctx, g).Outcome != history.OK || c.knownLost(g) {
		return false
	}
	c.reach(AfterCheck)
	return true
}

// reach waits at a point if it is armed. The update is finished whatever comes,
// so only the word to go on ends it.
func (c *Client) reach(point string) {
	if c.Points.Reach(context.Background(), point, c.name(), c.Resource) {
		c.Record(history.Event{Type: history.TypeLeave, Time: history.Now(), Worker: c.Worker, Client: c.name(), Resource: c.Resource, Point: point})
	}
}
