package checkers

import (
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
	does := func(kind history.Kind) bool {
		return slices.ContainsFunc(c.h.Operations, func(op history.Operation) bool { return op.Kind == kind })
	}
	if point == "P4" && does(history.Renew) && !does(history.Check) {
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
	switch {
	case p.Kind == pauseServer:
		return c.missed(p)
	case p.Delay:
		return slices.ContainsFunc(c.resources, func(e *evidence) bool {
			return slices.ContainsFunc(e.writes, func(w *write) bool { return p.Delays(w.op) && c.overtaken(e, w.grant, p) })
		})
	}
	last := c.lastStep(p.Point)
	return slices.ContainsFunc(c.resources, func(e *evidence) bool {
		if !c.locked {
			return slices.ContainsFunc(e.writes, func(w *write) bool {
				return w.op.Worker == p.Worker && w.basis.Return <= p.From && w.op.Call >= p.To && (p.Point != "" || c.overtaken(e, w.grant, p))
			})
		}
		return slices.ContainsFunc(e.grants, func(g *grant) bool {
			caught := g.stoppedAt(p, last)
			if p.Point == "" {
				caught = g.stoppedInside(p)
			}
			return g.worker == p.Worker && caught && c.overtaken(e, g, p)
		})
	})
}

// missed: a client asked the stopped server, or was waiting for its answer,
// while it was stopped. Which operations go to it is told by its name.
func (c *cell) missed(p history.Pause) bool {
	ofStore := strings.HasPrefix(p.Worker, "postgres")
	return slices.ContainsFunc(c.h.Operations, func(op history.Operation) bool {
		toStore := op.Kind == history.Read || op.Kind == history.Claim || op.Kind == history.Write
		return op.Worker != "" && toStore == ofStore && op.Call < p.To && op.Return > p.From
	})
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
	if c.locked {
		return slices.ContainsFunc(e.grants, func(h *grant) bool {
			return h.worker != p.Worker && g.olderThan(h) && h.ret < p.To
		})
	}
	return slices.ContainsFunc(e.writes, func(w *write) bool {
		return w.op.Worker != p.Worker && g.olderThan(w.grant) && w.grant.ret < p.To
	})
}

// pausesOf counts the pauses that caused these exposures: several clients
// stopped by one pause are not independent of each other.
func (c *cell) pausesOf(all []exposure) int {
	hit := map[string]bool{}
	for _, x := range all {
		for _, p := range slices.Backward(c.pauses) {
			if (x.worker == "" || x.worker == p.Worker) && p.From < x.to && p.To > x.from {
				hit[p.ID] = true
				break
			}
		}
	}
	return len(hit)
}
