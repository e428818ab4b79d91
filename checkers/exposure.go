package checkers

import (
	"cmp"
	"slices"

	"github.com/torture-harness/torture/harness/history"
)

// exposure is one occasion on which a property could have been violated. A
// pause of its worker (of any, if worker is "") between from and to caused it.
type exposure struct {
	resource string
	op       string // the operation that was exposed
	at       int64
	worker   string
	from, to int64
}

func (w *write) exposed() exposure {
	return exposure{resource: w.op.Resource, op: w.op.ID, at: w.op.Call, worker: w.op.Worker, from: w.grant.ret, to: w.due}
}

// lateExposures: writes that were sent, or let go by the network that had held
// them, after a newer grant's write had certainly been accepted, whether they
// were accepted or refused. Where no client is ever stopped or delayed: handovers.
func lateExposures(c *cell, e *evidence) []exposure {
	return c.late(e, func(*write, *cluster) bool { return true })
}

// staleExposures are the late writes that could not have seen the newer
// grant's write: a late write computed from the newer data overwrites nothing.
// Each of these, if accepted, certainly is a stale overwrite.
func staleExposures(c *cell, e *evidence) []exposure {
	cs := c.clusters(e)
	byID := map[string]*cluster{history.InitialWrite: cs[0]}
	for _, x := range cs[1:] {
		byID[x.w.op.WriteID] = x
	}
	return c.late(e, func(w *write, newer *cluster) bool {
		basis := byID[w.op.Basis]
		return basis != nil && basis != newer && basis.before(newer)
	})
}

func (c *cell) late(e *evidence, counts func(w *write, newer *cluster) bool) []exposure {
	if c.calm() {
		return c.disturbed(c.handovers(e))
	}
	accepted := slices.Clone(c.clusters(e)[1:])
	slices.SortStableFunc(accepted, func(a, b *cluster) int { return cmp.Compare(a.minRet, b.minRet) })
	newest := make([]int64, len(accepted)+1) // newest[i]: the largest grant call among the first i
	newest[0] = past
	for i, n := range accepted {
		newest[i+1] = max(newest[i], n.grantCall)
	}
	var out []exposure
	for _, w := range e.writes {
		known, _ := slices.BinarySearchFunc(accepted, w.due, func(n *cluster, call int64) int { return cmp.Compare(n.minRet, call) })
		if !w.sent() || newest[known] <= w.grant.ret {
			continue
		}
		for i := known; newest[i] > w.grant.ret; i-- { // there is no other before
			n := accepted[i-1]
			if w.grant.ret < n.grantCall && counts(w, n) {
				out = append(out, w.exposed())
				break
			}
		}
	}
	return out
}

// disturbed are, where servers are stopped, the exposures during which one was:
// only in these had the fault a hand.
func (c *cell) disturbed(all []exposure) []exposure {
	if c.fault != pauseServer {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(x exposure) bool {
		return !anyOf(c.stops.over(x.to, x.from), func(history.Pause) bool { return true })
	})
}

// handover is one lock going from one client to another who had wanted it
// while the first held it.
type handover struct{ from, to *grant }

// handovers are the exposures of properties that need contention, nothing more.
func (c *cell) handovers(e *evidence) []exposure {
	if e.handed != nil {
		return e.handed
	}
	if !c.locked {
		e.handed = contended(e)
		return e.handed
	}
	out := []exposure{}
	for _, h := range c.contendedGrants(e) {
		out = append(out, exposure{resource: e.name, op: h.to.id, at: h.to.call, from: h.from.ret, to: h.to.ret})
	}
	e.handed = out
	return out
}

func (c *cell) contendedGrants(e *evidence) []handover {
	var out []handover
	for i := 1; i < len(e.grants); i++ {
		g, h := e.grants[i-1], e.grants[i]
		if g.client != h.client && h.wanted < g.ended() {
			out = append(out, handover{g, h})
		}
	}
	return out
}

// ended is when a grant was over in all likelihood: its release was answered,
// or its lease had run out.
func (g *grant) ended() int64 {
	end := leaseEnd(g, 0)
	for _, op := range g.under {
		if op.Kind == history.Release && op.Outcome == history.OK {
			return max(op.Return, g.ret)
		}
	}
	return max(end, g.ret)
}

// contended: without a lock, an update that overlapped an accepted one of
// another client, from its read to its answer.
func contended(e *evidence) []exposure {
	var out []exposure
	latest := []int64{past}      // return of the effective ones among the first so many
	for i, w := range e.writes { // by call
		if latest = append(latest, latest[i]); w.effective {
			latest[i+1] = max(latest[i], w.ret)
		}
		if !w.sent() {
			continue
		}
		for j := i; latest[j] > w.basis.Call; j-- {
			if x := e.writes[j-1]; x.effective && x.op.Client != w.op.Client && x.ret > w.basis.Call {
				out = append(out, w.exposed())
				break
			}
		}
	}
	return out
}
