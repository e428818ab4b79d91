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

// decideFenceOrder is complete: linearizable iff the clusters can be ordered
// by real time and by the age of their grants at once.
func decideFenceOrder(e *evidence, cs []*cluster) (answer, []violation) {
	if acyclic(cs, true) {
		return legal, nil
	}
	var out []violation
	for _, x := range cs[1:] {
		for _, n := range cs[1:] {
			if x != n && x.older(n) && n.before(x) {
				out = append(out, violation{w: x.w, newest: n.w})
				break
			}
		}
	}
	return illegal, out
}
