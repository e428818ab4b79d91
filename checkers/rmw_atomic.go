package checkers

// rmwAtomic: no update is lost, each write is computed from the one before it.
var rmwAtomicModel = model{
	property:  RMWAtomic,
	legal:     func(s state, w *step) bool { return s.on(w) },
	decide:    decideRMWAtomic,
	tell:      tellLostUpdate,
	exposures: func(c *cell, e *evidence) []exposure { return c.handovers(e) },
}

func tellLostUpdate(v violation) culprit {
	var c culprit
	if len(v.lost) == 0 {
		c = v.culprit("%s wrote %s, computed from %s, which was not current", v.w.op.Client, v.w.op.WriteID, v.w.op.Basis)
	} else {
		c = v.culprit("%s wrote %s, computed from %s, over %s: that update is lost",
			v.w.op.Client, v.w.op.WriteID, v.w.op.Basis, v.lost[0].op.WriteID)
	}
	// The one that was stopped may be the one whose update is lost.
	c.worker, c.from = "", v.w.basis.Call
	return c
}

// decideRMWAtomic is complete: the bases must form one path through all
// writes, and no real-time edge may go against it.
func decideRMWAtomic(e *evidence, cs []*cluster) (answer, []violation) {
	next := map[int]int{}
	var out []violation
	for i, c := range cs[1:] {
		if first, taken := next[c.basis]; taken {
			out = append(out, violation{w: c.w, lost: []*write{cs[first].w}})
			continue
		}
		next[c.basis] = i + 1
	}
	if len(out) > 0 {
		return illegal, out
	}
	path := cs[:1:1]
	for at, more := next[0]; more; at, more = next[at] {
		path = append(path, cs[at])
	}
	if len(path) != len(cs) {
		return illegal, nil
	}
	if bad, late := inOrder(path); bad != nil {
		return illegal, []violation{between(bad, late)}
	}
	return legal, nil
}
