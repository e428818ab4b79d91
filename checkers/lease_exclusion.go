package checkers

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// RedisSlack is how much earlier than by our clock Redis may end a lease: its
// clock is not ours.
const RedisSlack = int64(2 * time.Millisecond)

// leaseEnd is the moment until which a grant's lease certainly lasted, unless
// somebody removed it: start + TTL, where start is the call of the last
// acknowledged request that set or renewed it, or the call of its release.
// A lock without a lease and without a release is certain for no time.
func leaseEnd(g *grant, slack int64) int64 {
	start, ttl := g.acquire.LeaseCall, g.acquire.LeaseTTL
	release := int64(history.Never)
	for _, op := range g.under {
		switch {
		case op.Kind == history.Renew && op.Outcome == history.OK && op.LeaseCall >= start:
			start = op.LeaseCall
			if op.LeaseTTL != 0 {
				ttl = op.LeaseTTL
			}
		case op.Kind == history.Release:
			release = min(release, op.Call)
		}
	}
	if ttl == 0 && release != history.Never {
		return release - slack
	}
	return min(start+ttl, release) - slack
}

// exclusive is the two-sided rule: grants g and h, their leases lasting at
// least until gEnd and hEnd, violate lease-exclusion iff no placement of the
// two executions in their intervals keeps the leases apart. One half alone
// proves nothing: a client stopped between sending and reading returns inside
// its successor's legal lease.
func exclusive(g, h *grant, gEnd, hEnd int64) bool {
	return !(g.ret < hEnd && h.ret < gEnd)
}

type leaseExclusion struct {
	exclusive func(g, h *grant, gEnd, hEnd int64) bool
}

func (leaseExclusion) Property() Property { return LeaseExclusion }

func (l leaseExclusion) Check(c *cell) outcome {
	if !c.locked {
		return outcome{verdict: NotApplicable, reason: "there is no lock"}
	}
	o := outcome{decidedBy: "two-sided rule"}
	slack := int64(0)
	if c.h.Header.LeaseBy == "redis" {
		slack = RedisSlack
	}
	for _, e := range c.resources {
		o.exposures = append(o.exposures, c.handovers(e)...)
		o.culprits = append(o.culprits, l.overlaps(e, slack)...)
		o.culprits = append(o.culprits, removed(e, slack)...)
	}
	o.verdict = Holds
	if len(o.culprits) > 0 {
		o.verdict = Violated
	}
	if c.h.Header.LeaseBy == "redis" {
		if step := clockStep(c.h); step > maxClockStep {
			o.verdict, o.reason = Undecided, fmt.Sprintf("the wall clock, by which Redis expires keys, was stepped by %v", time.Duration(step).Round(time.Millisecond))
		}
	}
	return o
}

func (l leaseExclusion) overlaps(e *evidence, slack int64) []culprit {
	var out []culprit
	ends := make([]int64, len(e.grants))
	for i, g := range e.grants {
		ends[i] = leaseEnd(g, slack)
	}
	for i, g := range e.grants {
		for j := i + 1; j < len(e.grants) && e.grants[j].ret < ends[i]; j++ {
			h := e.grants[j]
			if l.exclusive(g, h, ends[i], ends[j]) {
				continue
			}
			out = append(out, culprit{
				exposure: exposure{resource: e.name, op: h.id, at: h.call, from: g.call, to: h.ret},
				example: example(h.acquire, []*history.Operation{g.acquire, h.acquire}, fmt.Sprintf(
					"%s was granted the lock (%s) while the lease of %s (%s) had %v left", h.client, h.name(), g.client, g.name(), time.Duration(ends[i]-h.ret))),
				grants: []*grant{g, h},
			})
		}
	}
	return out
}

// released is the call of a grant's first release, history.Never without one.
func (g *grant) released() int64 {
	for _, op := range g.under { // by call
		if op.Kind == history.Release {
			return op.Call
		}
	}
	return history.Never
}

// removed is the second certain proof: "not yours" was answered before
// start + TTL although the holder had not released. A renewal by another process
// may be answered behind a release that it did not know of. Somebody removed a live
// lease.
func removed(e *evidence, slack int64) []culprit {
	var out []culprit
	for _, g := range e.grants {
		start, ttl := g.acquire.LeaseCall, g.acquire.LeaseTTL
		released := g.released()
		for _, op := range g.under { // by call
			if op.Kind == history.Renew && op.Outcome == history.OK {
				start = max(start, op.LeaseCall)
				if op.LeaseTTL != 0 {
					ttl = op.LeaseTTL
				}
			}
			if (op.Kind == history.Renew || op.Kind == history.Release) && op.Outcome == history.Lost && ttl != 0 && op.Return < start+ttl-slack && (op.Kind == history.Release || op.Return < released) {
				out = append(out, culprit{
					exposure: exposure{resource: e.name, op: op.ID, at: op.Call, worker: g.worker, from: g.ret, to: op.Return},
					example: example(op, []*history.Operation{g.acquire, op}, fmt.Sprintf(
						"%s was told at its %s that the lock was no longer its own (%s), %v before the end of its lease", g.client, op.Kind, g.name(), time.Duration(start+ttl-op.Return))),
					grants: []*grant{g},
				})
				break
			}
			if op.Kind == history.Release {
				break
			}
		}
	}
	return out
}

// maxClockStep is the largest step of the wall clock that does not matter to a
// lease.
const maxClockStep = int64(10 * time.Millisecond)

// clockStep is the largest step of CLOCK_REALTIME against CLOCK_MONOTONIC, in
// ns. One sample alone may be wrong, if its process was stopped between reading
// the two clocks, so each is taken as the median of itself and its neighbours.
func clockStep(h *history.History) int64 {
	var samples []history.Event
	for _, e := range h.Events {
		if e.Type == history.TypeClock {
			samples = append(samples, e)
		}
	}
	slices.SortStableFunc(samples, func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })
	offsets := make([]int64, len(samples))
	for i, s := range samples {
		offsets[i] = s.Offset
		if i > 0 && i < len(samples)-1 {
			three := []int64{samples[i-1].Offset, s.Offset, samples[i+1].Offset}
			slices.Sort(three)
			offsets[i] = three[1]
		}
	}
	var largest int64
	for i := 1; i < len(offsets); i++ {
		largest = max(largest, offsets[i]-offsets[i-1], offsets[i-1]-offsets[i])
	}
	return largest
}
