package checkers

import "slices"

// settling finds out, round by round, which writes can only stand on their
// bases, because a write of a newer grant certainly stands before them.
type settling struct {
	cs  []*cluster
	how []manner // glued, or loose: nothing is known yet
	why [][]int  // of a glued write: clusters from which it follows
}

func settle(cs []*cluster) *settling {
	return &settling{cs: cs, how: all(cs, loose), why: make([][]int, len(cs))}
}

// round glues what must be glued, given what was glued before. more: there was
// something. Writes that cannot be where they must be are violations.
func (s *settling) round() (more bool, found []violation) {
	blocks, bad := chain(s.cs, s.how)
	if bad != nil {
		return false, []violation{s.contradiction(bad)}
	}
	if clash := clashes(blocks); clash != nil {
		return false, []violation{s.contradiction(members(blocks, clash[0][:]...))}
	}
	p := newPrecedence(len(s.cs), blocks)
	onBasis := map[int]int{}
	for i, x := range s.cs {
		if i == 0 || x.basis == outside || s.how[i] != loose {
			continue
		}
		at := p.of[i]
		n := p.newest(at, x.grantRet)
		if n < 0 {
			continue
		}
		because := members(blocks, p.path(n, at)...)
		gone := s.gone(p, i, n)
		if other, taken := onBasis[x.basis]; taken && gone == nil {
			gone = []int{x.basis, other}
		}
		if gone != nil {
			v := s.contradiction(append(because, gone...))
			v.w, v.newest = x.w, s.cs[blocks[n].newest].w
			found = append(found, v)
			continue
		}
		s.why[i], onBasis[x.basis], more = s.withReasons(because), i, true
	}
	for _, i := range onBasis {
		s.how[i] = glued
	}
	return more, found
}

// gone: x cannot stand on its basis. It returns the clusters that show it; n,
// the block of the newer grant, is among them if it can.
func (s *settling) gone(p *precedence, x, n int) []int {
	at, basis := p.of[x], p.of[s.cs[x].basis]
	there := p.blocks[basis].members
	m := n
	if m == basis || !p.before(basis, m) {
		m = p.between(basis, at)
	}
	switch {
	case there[len(there)-1] != s.cs[x].basis || at == basis: // something else stands there
		return members(p.blocks, basis, at)
	case p.before(at, basis):
		return members(p.blocks, p.path(at, basis)...)
	case m >= 0:
		return members(p.blocks, append(p.path(basis, m), p.path(m, at)...)...)
	}
	return nil
}

// contradiction is a violation for which the last write of some is to blame.
func (s *settling) contradiction(because []int) violation {
	shown := pick(s.cs, s.withReasons(because))
	return violation{w: shown[len(shown)-1].w, because: shown}
}

// withReasons adds what made clusters stand on their bases.
func (s *settling) withReasons(which []int) []int {
	out := slices.Clone(which)
	for _, i := range which {
		out = append(out, s.why[i]...)
	}
	return out
}

// fence is s.how with all others fenced.
func (s *settling) fence() []manner {
	how := all(s.cs, fenced)
	for i, h := range s.how {
		if h == glued || s.cs[i].basis == outside {
			how[i] = h
		}
	}
	return how
}

func members(blocks []block, which ...int) []int {
	var out []int
	for _, i := range which {
		out = append(out, blocks[i].members...)
	}
	return out
}

// pick lists some clusters once, by their calls.
func pick(cs []*cluster, which []int) []*cluster {
	which = slices.Clone(which)
	slices.Sort(which)
	var out []*cluster
	for _, i := range slices.Compact(which) {
		out = append(out, cs[i])
	}
	return out
}
