package checkers

import "github.com/torture-harness/torture/harness/history"

// register is the baseline: reads return the current write. A violation is a
// store that loses or invents data, or a recorder that is wrong.
var registerModel = model{
	property: Register,
	legal:    func(state, *step) bool { return true },
	decide:   decideRegister,
	tell: func(v violation) culprit {
		return v.culprit("%s was not the current write of %s", v.w.op.WriteID, v.w.op.Resource)
	},
	exposures: func(c *cell, e *evidence) []exposure {
		var out []exposure
		for _, r := range e.reads {
			out = append(out, exposure{resource: e.name, at: r.Call, from: r.Call, to: r.Return, worker: r.Worker})
		}
		return out
	},
}

// decideRegister is complete: the clusters can be ordered by real time, or two of
// them clash.
func decideRegister(cs []*cluster) decision {
	if order, ok := arrange(cs, all(cs, loose)); ok {
		return decision{answer: legal, order: order}
	}
	blocks, _ := chain(cs, all(cs, loose)) // one for each cluster
	d := decision{answer: illegal}
	for _, pair := range clashes(blocks) {
		x, y := cs[pair[0]], cs[pair[1]]
		d.found = append(d.found, between(y, x).shownBy(x, y))
	}
	return d
}

// between is a contradiction of two clusters, one of which may be the initial
// document, which nobody wrote.
func between(x, y *cluster) violation {
	if x.w == nil {
		x, y = y, x
	}
	v := violation{w: x.w}
	if y.w != nil {
		v.lost = []*write{y.w}
	}
	return v
}

// journalledRegister: the store's order must be one that the clients can have
// seen, and no write may be applied twice.
func journalledRegister(e *evidence, walk []*write) []violation {
	var out []violation
	twice := map[*write]bool{}
	byWrite := map[*write]*cluster{}
	for _, c := range clusters(e) {
		byWrite[c.w] = c
	}
	order := []*cluster{byWrite[nil]}
	for _, w := range walk {
		if twice[w] {
			out = append(out, violation{w: w})
			continue
		}
		twice[w] = true
		c := byWrite[w]
		if c == nil { // nobody saw it and its writer does not know: only its call binds it
			c = &cluster{w: w, maxCall: w.op.Call, minRet: history.Never}
		}
		order = append(order, c)
	}
	if bad, late := inOrder(order); bad != nil {
		out = append(out, between(bad, late))
	}
	return out
}
