package checkers

// predecessors knows which clusters certainly stand before which, by real time
// alone. If that has no circle, X stands certainly before Z iff X returned
// before a call in Z, or before a call in some Y that returned before a call in
// Z: longer detours bring nothing new (docs/modelling.md).
type predecessors struct {
	cs     []*cluster
	reach  []int64  // latest call of the cluster and of those directly before it
	via    []int    // whose call that is
	newest *ranking // by return, the newest grant
	far    *ranking // by return, the furthest reach
}

func newPredecessors(cs []*cluster) *predecessors {
	p := &predecessors{cs: cs}
	ret := func(i int) int64 { return cs[i].minRet }
	latest := rank(len(cs), ret, func(i int) int64 { return cs[i].maxCall })
	for i, c := range cs {
		reach, via := c.maxCall, i
		if j := latest.below(c.maxCall, i); j >= 0 && cs[j].maxCall > reach {
			reach, via = cs[j].maxCall, j
		}
		p.reach, p.via = append(p.reach, reach), append(p.via, via)
	}
	p.newest = rank(len(cs), ret, func(i int) int64 { return cs[i].grantCall })
	p.far = rank(len(cs), ret, func(i int) int64 { return p.reach[i] })
	return p
}

// path is how x comes to stand before z: x, and what lies on the way.
func (p *predecessors) path(x, z int) []*cluster {
	out := []*cluster{p.cs[x]}
	if !p.cs[x].before(p.cs[z]) {
		out = append(out, p.cs[p.via[z]])
	}
	return out
}

// newer is a write of a newer grant that certainly stands before z, first, and
// what lies on the way; nil if there is none.
func (p *predecessors) newer(z int) []*cluster {
	for _, limit := range []int64{p.cs[z].maxCall, p.reach[z]} { // directly if possible
		if n := p.newest.below(limit, z); n >= 0 && p.cs[z].older(p.cs[n]) {
			return p.path(n, z)
		}
	}
	return nil
}

// between is a cluster that certainly stands after b and before z, first, and
// what lies on the way. If z itself certainly stands before b, it is b.
func (p *predecessors) between(b, z int) []*cluster {
	if p.before(z, b) {
		return p.path(z, b)
	}
	if m := p.far.below(p.reach[z], b, z); m >= 0 && p.before(b, m) {
		return append(p.path(m, z), p.path(b, m)...)
	}
	return nil
}

// before: x certainly stands before z.
func (p *predecessors) before(x, z int) bool { return x != z && p.cs[x].minRet < p.reach[z] }
