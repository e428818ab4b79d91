package checkers

import "slices"

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

// decideStaleOverwrite decides without a search where it can. Each write is
// either fenced or stands directly on its basis. One that certainly follows a
// newer grant's must stand on its basis; so it is violated if something else
// certainly lies in between, or if another write must stand there too. If the
// clusters can be arranged with all others fenced, it holds. Anything else is
// left to Porcupine.
func decideStaleOverwrite(cs []*cluster) decision {
	if d := decideRegister(cs); d.answer == illegal {
		return d
	}
	for _, d := range []decision{decideFenceOrder(cs), decideRMWAtomic(cs)} {
		if d.answer == legal {
			return d
		}
	}
	before := newPredecessors(cs)
	how := all(cs, fenced)
	found := []violation{}
	type late struct {
		c   *cluster
		why []*cluster
	}
	onBasis := map[int]late{}
	for i, x := range cs {
		why := before.newer(i)
		if why == nil {
			continue
		}
		how[i] = glued
		v := violation{w: x.w, newest: why[0].w}
		other, taken := onBasis[x.basis]
		if between := before.between(x.basis, i); between != nil {
			v.because = slices.Concat([]*cluster{cs[x.basis]}, why, between, []*cluster{x})
		} else if taken {
			v.because = slices.Concat([]*cluster{cs[x.basis]}, other.why, why, []*cluster{other.c, x})
		} else {
			onBasis[x.basis] = late{x, why}
			continue
		}
		found = append(found, v)
	}
	if len(found) > 0 {
		return decision{answer: illegal, found: found}
	}
	if order, ok := arrange(cs, how); ok {
		return decision{answer: legal, order: order}
	}
	return decision{}
}
