package checkers

import (
	"cmp"
	"slices"
	"strings"

	"github.com/torture-harness/torture/harness/history"
)

// stoppedAfter is what a client has done last when it is stopped at a
// breakpoint.
var stoppedAfter = map[string][]history.Kind{
	"P2": {history.Acquire},
	"P3": {history.Read, history.Claim},
	"P4": {history.Check},
	"P7": {history.Read, history.Claim, history.Acquire},
	"P8": {history.Write},
}

// lastStep is what a client has done last at a breakpoint. Where leases are
// renewed and nobody asks before a write, clients make sure of their lock by what
// the renewals have told them: they have only read when they reach P4.
func (c *cell) lastStep(point string) []history.Kind {
	if point == "P4" && c.kinds[history.Renew] && !c.kinds[history.Check] {
		return stoppedAfter["P3"]
	}
	return stoppedAfter[point]
}

// insideWrite is the breakpoint between the two statements of one write.
const insideWrite = "between"

// landed: the pause did what it was for, as the history shows it. An aimed one
// caught at least one client of its worker exactly between the step before its
// breakpoint and the next, and another worker got that lock before the client
// could go on. A blind one caught a client somewhere between taking the lock
// and writing, and another worker got the lock. A delay held a write until
// another worker had got the lock. The stop of a server kept somebody waiting.
func (c *cell) landed(p history.Pause) bool {
	v := c.victims[p.Worker]
	switch {
	case p.Kind == pauseServer:
		return c.missed(p)
	case v == nil:
		return false
	case p.Delay:
		return anyOf(v.sent.over(p.From+1, p.To-1), func(w written) bool { return p.Delays(w.op) && c.overtaken(w.e, w.grant, p) })
	case !c.locked:
		return anyOf(v.updates.over(p.From+1, p.To-1), func(w written) bool { return p.Point != "" || c.overtaken(w.e, w.grant, p) })
	}
	held := &v.held
	if p.Point == insideWrite {
		held = &v.heldToReturn
	}
	last := c.lastStep(p.Point)
	return anyOf(held.over(p.From+1, p.To-1), func(g holding) bool {
		caught := g.stoppedAt(p, last)
		if p.Point == "" {
			caught = g.stoppedInside(p)
		}
		return caught && c.overtaken(g.e, g.grant, p)
	})
}

// missed: a client asked the stopped server, or was waiting for its answer,
// while it was stopped. Which operations go to it is told by its name.
func (c *cell) missed(p history.Pause) bool {
	ofStore := strings.HasPrefix(p.Worker, "postgres")
	return anyOf(c.asked[ofStore].over(p.To, p.From), func(*history.Operation) bool { return true })
}

// stoppedAt: the last step under the grant before the pause is that of the
// pause's breakpoint, and the next began after it. Renewals may come from
// elsewhere and do not count.
func (g *grant) stoppedAt(p history.Pause, step []history.Kind) bool {
	last, next := g.acquire, (*history.Operation)(nil)
	for _, op := range g.under { // by call
		switch {
		case op.Kind == history.Write && p.Point == insideWrite && op.Call <= p.From && op.Return >= p.To:
			return true
		case op.Kind == history.Renew:
		case op.Call >= p.To:
			if next == nil {
				next = op
			}
		default:
			last = op
		}
	}
	return next != nil && last.Return <= p.From && slices.Contains(step, last.Kind)
}

// stoppedInside: the whole pause lies between the acquire and the write, or
// the release of a client that found out and did not write.
func (g *grant) stoppedInside(p history.Pause) bool {
	for _, op := range g.under { // by call
		if op.Kind == history.Write || op.Kind == history.Release {
			return g.ret <= p.From && op.Call >= p.To
		}
	}
	return false
}

// overtaken: another worker was given a newer grant before the pause ended.
func (c *cell) overtaken(e *evidence, g *grant, p history.Pause) bool {
	all := e.grants
	if !c.locked {
		all = e.ofWrites()
	}
	from, _ := slices.BinarySearchFunc(all, p.To, func(h *grant, to int64) int { return cmp.Compare(h.ret, to) })
	for i := from; i > 0 && all[i-1].ret > g.ret; i-- { // what returned earlier is not newer
		if h := all[i-1]; h.worker != p.Worker && g.olderThan(h) {
			return true
		}
	}
	return false
}

// ofWrites are the grants of all writes, by their returns.
func (e *evidence) ofWrites() []*grant {
	if e.wrote == nil {
		for _, w := range e.writes {
			e.wrote = append(e.wrote, w.grant)
		}
		slices.SortStableFunc(e.wrote, func(a, b *grant) int { return cmp.Compare(a.ret, b.ret) })
	}
	return e.wrote
}

// pausesOf counts the pauses that caused these exposures: several clients
// stopped by one pause are not independent of each other.
func (c *cell) pausesOf(all []exposure) int {
	hit := map[string]bool{}
	if len(c.pauses) == 0 {
		return 0
	}
	for _, x := range all {
		for p := range c.stops.over(x.to, x.from) {
			if x.worker == "" || x.worker == p.Worker {
				hit[p.ID] = true
				break
			}
		}
	}
	return len(hit)
}
