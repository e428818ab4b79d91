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

// decideRMWAtomic is complete: each write stands directly on its basis and all
// form one path in an order that real time allows; or two writes have one basis;
// or a write must stand before its basis; or, where all stamps are equal, bases
// form a circle. A contradiction further along a path implies one between
// neighbours, because a write is called after its basis was read.
func decideRMWAtomic(cs []*cluster) decision {
	if order, ok := arrange(cs, all(cs, glued)); ok {
		return decision{answer: legal, order: order}
	}
	d := decision{answer: illegal}
	first := map[int]*cluster{} // by basis
	for _, c := range cs[1:] {
		if c.basis == outside {
			continue
		}
		basis := cs[c.basis]
		switch one := first[c.basis]; {
		case one != nil:
			d.found = append(d.found, violation{w: c.w, lost: []*write{one.w}, because: []*cluster{basis, one, c}})
			continue
		case c.before(basis):
			d.found = append(d.found, between(c, basis).shownBy(basis, c))
		}
		first[c.basis] = c
	}
	if len(d.found) == 0 {
		because := cs
		if _, circle := chain(cs, all(cs, glued)); circle != nil {
			because = pick(cs, circle)
		}
		d.found = append(d.found, violation{w: because[len(because)-1].w, because: because})
	}
	return d
}
