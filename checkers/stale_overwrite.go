package checkers

// staleOverwrite is the primary property: no old holder overwrites newer data
// that it has not seen.
var staleOverwriteModel = model{
	property: StaleOverwrite,
	legal:    func(s state, w *step) bool { return !s.older(w) || s.on(w) },
	newest:   true,
	decide:   decideStaleOverwrite,
	tell: func(v violation) culprit {
		if v.newest == nil {
			return v.culprit("%s wrote %s over newer data that it had not seen", v.w.op.Client, v.w.op.WriteID)
		}
		return v.culprit("%s wrote %s, computed from %s, over %s of the newer grant %s, which it had not seen",
			v.w.op.Client, v.w.op.WriteID, v.w.op.Basis, v.newest.op.WriteID, v.newest.grant.name())
	},
	exposures: staleExposures,
}

// decideStaleOverwrite decides the plain cases without a search. It holds if
// fence-order or rmw-atomic holds. It is violated if register is, or if a write
// of a newer grant certainly stands between a write and its basis. Anything
// else is left to Porcupine.
func decideStaleOverwrite(e *evidence, cs []*cluster) (answer, []violation) {
	if a, found := decideRegister(e, cs); a == illegal {
		return illegal, found
	}
	if a, _ := decideFenceOrder(e, cs); a == legal {
		return legal, nil
	}
	if a, _ := decideRMWAtomic(e, cs); a == legal {
		return legal, nil
	}
	var out []violation
	for _, x := range cs[1:] {
		for _, n := range cs[1:] {
			if x != n && x.older(n) && n.before(x) && cs[x.basis] != n && cs[x.basis].before(n) {
				out = append(out, violation{w: x.w, newest: n.w})
				break
			}
		}
	}
	if len(out) > 0 {
		return illegal, out
	}
	return unknown, nil
}
