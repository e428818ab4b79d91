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

// decideStaleOverwrite is complete, but for maxRounds. In a legal order each
// write is fenced or stands directly on its basis. One that certainly follows a
// newer grant's cannot be fenced, so it stands on its basis, which may leave
// others no choice. It is violated if one cannot stand where it must; if nothing
// follows any more, all others can be fenced (docs/modelling.md).
func decideStaleOverwrite(cs []*cluster) decision {
	if d := decideRegister(cs); d.answer == illegal {
		return d
	}
	s := settle(cs)
	for range maxRounds {
		more, found := s.proceed()
		if len(found) > 0 {
			return decision{answer: illegal, found: found}
		}
		if more {
			continue
		}
		if order, ok := arrange(cs, s.fence()); ok {
			return decision{answer: legal, order: order}
		}
		break
	}
	return decision{}
}

// maxRounds keeps the whole at O(n log n). Each takes a write that is forced by
// those of the round before; what takes more is left to Porcupine.
const maxRounds = 64
