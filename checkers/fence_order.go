package checkers

// fenceOrder is what fencing guarantees: no old holder writes after a newer
// one. It looks at the grants, not at their tokens, so it also sees a wrong
// token.
var fenceOrderModel = model{
	property: FenceOrder,
	legal:    func(s state, w *step) bool { return !s.older(w) },
	newest:   true,
	decide:   decideFenceOrder,
	tell: func(v violation) culprit {
		if v.newest == nil {
			return v.culprit("%s wrote %s after a newer grant's write had been accepted", v.w.op.Client, v.w.op.WriteID)
		}
		return v.culprit("%s wrote %s under %s after %s of the newer grant %s had been accepted",
			v.w.op.Client, v.w.op.WriteID, v.w.grant.name(), v.newest.op.WriteID, v.newest.grant.name())
	},
	exposures: lateExposures,
}

// decideFenceOrder is complete: the clusters can be ordered by real time and by
// the age of their grants at once, or there is a circle of at most three: a late
// write z, a write n of a newer grant, and perhaps one that stands after n and
// before z.
func decideFenceOrder(cs []*cluster) decision {
	if order, ok := arrange(cs, all(cs, fenced)); ok {
		return decision{answer: legal, order: order}
	}
	if d := decideRegister(cs); d.answer == illegal {
		return d
	}
	blocks, _ := chain(cs, all(cs, loose)) // one for each cluster
	p := newPrecedence(len(cs), blocks)
	d := decision{answer: illegal}
	for i, z := range cs {
		if n := p.newest(i, z.grantRet); n >= 0 {
			d.found = append(d.found, violation{w: z.w, newest: cs[n].w, because: pick(cs, p.path(n, i))})
		}
	}
	return d
}
