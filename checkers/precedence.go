package checkers

// precedence knows which blocks certainly stand before which by real time. If
// that has no circle, x stands before z iff something in x returned before a
// call in z, or before a call in some y of which something returned before a
// call in z: longer detours bring nothing new (docs/modelling.md).
type precedence struct {
	blocks []block
	of     []int    // cluster to its block
	reach  []int64  // the latest call of a block and of those directly before it
	via    []int    // whose call that is
	age    *ranking // by the earliest return, the newest grant
	far    *ranking // by the earliest return, the furthest reach
}

func newPrecedence(clusters int, blocks []block) *precedence {
	p := &precedence{blocks: blocks, of: make([]int, clusters)}
	for i, b := range blocks {
		for _, m := range b.members {
			p.of[m] = i
		}
	}
	ret := func(i int) int64 { return blocks[i].time.end }
	latest := rank(len(blocks), ret, func(i int) int64 { return blocks[i].time.begin })
	for i, b := range blocks {
		reach, via := b.time.begin, i
		if j := latest.below(reach, i); j >= 0 && blocks[j].time.begin > reach {
			reach, via = blocks[j].time.begin, j
		}
		p.reach, p.via = append(p.reach, reach), append(p.via, via)
	}
	p.age = rank(len(blocks), ret, func(i int) int64 { return blocks[i].age.begin })
	p.far = rank(len(blocks), ret, func(i int) int64 { return p.reach[i] })
	return p
}

// before: block x certainly stands before block z.
func (p *precedence) before(x, z int) bool { return x != z && p.blocks[x].time.end < p.reach[z] }

// path is how x comes to stand before z: both, and what lies between.
func (p *precedence) path(x, z int) []int {
	if p.blocks[x].time.end < p.blocks[z].time.begin {
		return []int{x, z}
	}
	return []int{x, p.via[z], z}
}

// newest is the block with the newest grant of those before z, preferably of
// those directly before it if their grant is newer than ret; -1 if none is.
func (p *precedence) newest(z int, ret int64) int {
	for _, limit := range []int64{p.blocks[z].time.begin, p.reach[z]} {
		if n := p.age.below(limit, z); n >= 0 && ret < p.blocks[n].age.begin {
			return n
		}
	}
	return -1
}

// between is a block after x and before z, -1 if none.
func (p *precedence) between(x, z int) int {
	if m := p.far.below(p.reach[z], x, z); m >= 0 && p.before(x, m) {
		return m
	}
	return -1
}

// clashes are pairs of blocks that must each stand before the other by real
// time, each block at most once as the second, the later one. Every circle has
// such a pair: for if X1, X2, … Xk is one and Xm has the latest call in it, then
// whatever stands before any other also stands before Xm, so the one after Xm
// does.
func clashes(blocks []block) [][2]int {
	latest := rank(len(blocks), func(i int) int64 { return blocks[i].time.end }, func(i int) int64 { return blocks[i].time.begin })
	var out [][2]int
	told := map[int]bool{}
	for i, b := range blocks {
		j := latest.below(b.time.begin, i)
		if j < 0 || b.time.end >= blocks[j].time.begin || told[max(i, j)] {
			continue
		}
		told[max(i, j)] = true
		out = append(out, [2]int{min(i, j), max(i, j)})
	}
	return out
}
