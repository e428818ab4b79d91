package checkers

import (
	"fmt"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// stalled explains a violation under fault none: a holder overran its lease
// only because its process did not run for a while, which nobody had planned.
// It returns how long that was, 0 if it explains nothing.
func (c *cell) stalled(k culprit) int64 {
	for _, g := range k.grants {
		if g.acquire == nil {
			continue
		}
		last := lastWrite(g)
		end := leaseEnd(g, 0)
		if last == nil || last.Call <= end {
			continue // it kept within its lease
		}
		var total int64
		for _, s := range c.h.Events {
			if s.Type == history.TypeStall && s.Worker == g.worker && s.Time-s.Gap < last.Call && s.Time > g.call {
				total += min(s.Time, last.Call) - max(s.Time-s.Gap, g.call)
			}
		}
		if total > 0 && last.Call-total <= end {
			return total
		}
	}
	return 0
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

// excuse turns a violation under fault none that unplanned stalls explain
// altogether into an undecided one.
func (c *cell) excuse(o *outcome) {
	if c.fault != none || o.verdict != Violated || len(o.culprits) == 0 {
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
