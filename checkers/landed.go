package checkers

import (
	"slices"

	"github.com/torture-harness/torture/harness/history"
)

// stoppedAfter is what a client has done last when it is stopped at a
// breakpoint.
var stoppedAfter = map[string][]history.Kind{
	"P2": {history.Acquire},
	"P3": {history.Read, history.Claim},
	"P4": {history.Check},
	"P8": {history.Write},
}

// landed: the pause did what it was for, as the history shows it. An aimed one
// caught at least one client of its worker exactly between the step before its
// breakpoint and the next, and another worker got that lock before the client
// could go on. A blind one caught a client somewhere between taking the lock
// and writing, and another worker got the lock.
func (c *cell) landed(p history.Pause) bool {
	return slices.ContainsFunc(c.resources, func(e *evidence) bool {
		if !c.locked {
			return slices.ContainsFunc(e.writes, func(w *write) bool {
				return w.op.Worker == p.Worker && w.basis.Return <= p.From && w.op.Call >= p.To && (p.Point != "" || c.overtaken(e, w.grant, p))
			})
		}
		return slices.ContainsFunc(e.grants, func(g *grant) bool {
			caught := g.stoppedAt(p)
			if p.Point == "" {
				caught = g.stoppedInside(p)
			}
			return g.worker == p.Worker && caught && c.overtaken(e, g, p)
		})
	})
}

// stoppedAt: the last step under the grant before the pause is that of the
// pause's breakpoint, and the next began after it. Renewals may come from
// elsewhere and do not count.
func (g *grant) stoppedAt(p history.Pause) bool {
	last, next := g.acquire, (*history.Operation)(nil)
	for _, op := range g.under { // by call
		switch {
		case op.Kind == history.Renew:
		case op.Call >= p.To:
			if next == nil {
				next = op
			}
		default:
			last = op
		}
	}
	return next != nil && last.Return <= p.From && slices.Contains(stoppedAfter[p.Point], last.Kind)
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
