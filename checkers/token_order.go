package checkers

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/torture-harness/torture/harness/history"
)

// tokenOrder: a newer grant has a larger token, and no two share one.
type tokenOrder struct{}

func (tokenOrder) Property() Property { return TokenOrder }

func (tokenOrder) Check(c *cell) outcome {
	if !c.locked || !c.h.Header.Tokens {
		return outcome{verdict: NotApplicable, reason: "the lock gives no tokens"}
	}
	o := outcome{verdict: Holds, decidedBy: "tokens"}
	for _, e := range c.resources {
		o.exposures = append(o.exposures, c.handovers(e)...)
		o.culprits = append(o.culprits, misordered(e)...)
	}
	if len(o.culprits) > 0 {
		o.verdict = Violated
	}
	return o
}

func misordered(e *evidence) []culprit {
	var out []culprit
	blame := func(g, h *grant, what string) {
		out = append(out, culprit{
			exposure: exposure{resource: e.name, op: h.id, at: h.call, from: g.ret, to: h.ret},
			example: example(h.acquire, []*history.Operation{g.acquire, h.acquire}, fmt.Sprintf(
				"%s got token %d, %s %s with token %d", h.id, h.token, what, g.id, g.token)),
			grants: []*grant{g, h},
		})
	}
	byCall := slices.Clone(e.grants)
	slices.SortStableFunc(byCall, func(a, b *grant) int { return cmp.Compare(a.call, b.call) })
	holder := map[int64]*grant{}
	var largest *grant // among the grants older than h
	older := 0
	for _, h := range byCall {
		if h.token == 0 {
			continue // it never got to draw one
		}
		for ; older < len(e.grants) && e.grants[older].olderThan(h); older++ { // by return
			if g := e.grants[older]; largest == nil || g.token > largest.token {
				largest = g
			}
		}
		switch first := holder[h.token]; {
		case first != nil:
			blame(first, h, "the same as")
		case largest != nil && largest.token >= h.token:
			blame(largest, h, "not more than the older")
		}
		if holder[h.token] == nil {
			holder[h.token] = h
		}
	}
	return out
}
