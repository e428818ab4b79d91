package checkers

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// progress: once all that will be healed is healed, no lock stays untakeable
// for 5 × TTL, and every refusal of the store is justified. It keeps a store
// that refuses everything from passing.
type progress struct{}

func (progress) Property() Property { return Progress }

// untakeable is how many TTLs a lock may be wanted in vain.
const untakeable = 5

func (progress) Check(c *cell) outcome {
	o := outcome{verdict: Holds, decidedBy: "grants and refusals"}
	justified, judged := refusalRules[c.h.Header.Guard]
	healed, killed := lastHeal(c.h), kills(c.h)
	for _, e := range c.resources {
		o.exposures = append(o.exposures, c.handovers(e)...)
		if taken := e.takenAfter(healed, c.locked); taken != nil {
			o.exposures = append(o.exposures, exposure{resource: e.name, op: taken.ID, at: taken.Call, from: taken.Call, to: taken.Return})
		}
		if c.locked {
			o.culprits = append(o.culprits, starved(e, healed, c.h.Header.TTL, killed)...)
		}
		for _, r := range e.refusals() {
			if !judged {
				o.verdict, o.reason = Undecided, fmt.Sprintf("no rule says when guard %q may refuse", c.h.Header.Guard)
				continue
			}
			o.exposures = append(o.exposures, exposure{resource: e.name, op: r.op.ID, at: r.op.Call, worker: r.op.Worker, from: r.grant.ret, to: r.op.Call})
			if !justified(e, r) {
				o.culprits = append(o.culprits, r.unjustified())
			}
		}
	}
	if len(o.culprits) > 0 {
		o.verdict, o.reason = Violated, ""
	}
	return o
}

// lastHeal is when the last fault was over; 0 without faults.
func lastHeal(h *history.History) int64 {
	var last int64
	for _, f := range h.Faults {
		switch f.Phase {
		case history.Resumed, history.Released, history.Killed, history.Healed:
			last = max(last, f.Time)
		}
	}
	return last
}

// takenAfter is the first grant after a moment (without a lock: the first
// accepted write), the proof that the resource can still be used.
func (e *evidence) takenAfter(moment int64, locked bool) *history.Operation {
	if locked {
		for _, g := range e.grants {
			if g.call >= moment {
				return g.acquire
			}
		}
		return nil
	}
	for _, w := range e.writes {
		if w.op.Call >= moment && w.op.Outcome == history.OK {
			return w.op
		}
	}
	return nil
}

// starved finds stretches of more than 5 × TTL in which somebody wanted the
// lock and nobody got it. A holder that renews its lease may keep it; that of a
// killed worker is nobody's, whoever renews it.
func starved(e *evidence, healed, ttl int64, killed map[string]int64) []culprit {
	var out []culprit
	kept := []int64{past} // until when the first so many grants held the lock
	for i, g := range e.grants {
		kept = append(kept, max(kept[i], g.renewedUntil(killed)))
	}
	for _, wish := range joined(e.wishes) {
		before, _ := slices.BinarySearchFunc(e.grants, wish.from, func(g *grant, from int64) int { return cmp.Compare(g.ret, from) })
		begin := max(wish.from, healed, kept[before])
		check := func(end int64) {
			if end-begin <= untakeable*ttl {
				return
			}
			out = append(out, culprit{
				exposure: exposure{resource: e.name, op: fmt.Sprintf("%s@%d", e.name, begin), at: begin, from: begin, to: end},
				example: Example{Resource: e.name, At: begin, Ops: []string{}, Text: fmt.Sprintf(
					"the lock of %s was wanted for %v, by %s among others, and given to nobody", e.name, time.Duration(end-begin).Round(time.Millisecond), wish.client)},
			})
		}
		for i, g := range e.grants[before:] { // by return
			if g.ret > wish.to {
				break
			}
			check(g.ret)
			begin = max(begin, kept[before+i+1])
		}
		check(wish.to)
	}
	return out
}

// renewedUntil is the last moment at which the lock is known to be held by
// somebody: the acquire or a renewal was answered. A separate process may go on
// to renew for a worker that was killed; nobody holds what it keeps alive.
func (g *grant) renewedUntil(killed map[string]int64) int64 {
	last := g.ret
	for _, op := range g.under {
		at, dead := killed[g.worker]
		if op.Kind == history.Renew && op.Outcome == history.OK && !(dead && op.Return > at) {
			last = max(last, op.Return)
		}
	}
	return last
}
