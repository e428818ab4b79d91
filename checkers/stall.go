package checkers

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// usual is how long a request may take, in ns, before somebody asks why: the gap
// from which on a worker records a stall.
const usual = int64(100 * time.Millisecond)

// stalled explains a violation under fault none: a holder overran its lease
// only because its process did not run for a while, or because a request of its
// was on its way for longer than usual, which nobody had planned. It returns how
// long that was, 0 if it explains nothing.
func (c *cell) stalled(k culprit) int64 {
	for _, g := range k.grants {
		if g.acquire == nil {
			continue
		}
		last := lastWrite(g)
		if last == nil {
			continue
		}
		end := leaseEnd(g, 0)
		if last.Completed <= end {
			continue // it kept within its lease
		}
		if lost := c.lost(g, last.Completed); last.Completed-lost <= end {
			return lost
		}
	}
	return 0
}

// lost is the time until then in which a grant could not go on.
func (c *cell) lost(g *grant, until int64) int64 {
	var gaps [][2]int64
	if stalls := c.stalls[g.worker]; stalls != nil {
		gaps = slices.Collect(stalls.over(until, g.call))
	}
	for _, op := range append([]*history.Operation{g.acquire}, g.under...) {
		gaps = append(gaps, [2]int64{op.Call + usual, op.Completed})
	}
	slices.SortFunc(gaps, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	var total int64
	at := g.call
	for _, gap := range gaps {
		from, to := max(gap[0], at), min(gap[1], until)
		if from < to {
			total += to - from
			at = to
		}
	}
	return total
}

func lastWrite(g *grant) *history.Operation {
	var last *history.Operation
	for _, op := range g.under {
		if op.Kind == history.Write {
			last = op
		}
	}
	return last
}

// excuse turns a violation of the data under fault none that unplanned stalls
// explain altogether into an undecided one. They explain no violation of the
// lock layer, whose rules do not ask how long a holder works.
func (c *cell) excuse(p Property, o *outcome) {
	if p != StaleOverwrite && p != FenceOrder && p != RMWAtomic || c.fault != none || o.verdict != Violated || len(o.culprits) == 0 {
		return
	}
	var longest int64
	for _, k := range o.culprits {
		gap := c.stalled(k)
		if gap == 0 {
			return
		}
		longest = max(longest, gap)
	}
	o.verdict = Undecided
	o.reason = fmt.Sprintf("unplanned stall of %.1f s: %s", time.Duration(longest).Seconds(), o.culprits[0].example.Text)
}
