package checkers

import "slices"

// settling finds out, round by round, which writes can only stand on their
// bases, because a write of a newer grant certainly stands before them.
type settling struct {
	cs    []*cluster
	how   []manner // glued, or loose: nothing is known yet
	next  []int    // what is glued to a cluster; 0 for nothing
	round int
	why   map[int]reason // of each glued write
}

// reason names the blocks from which something followed, by their first
// clusters, as they were in a round.
type reason struct {
	round int
	heads []int
}

func settle(cs []*cluster) *settling {
	return &settling{cs: cs, how: all(cs, loose), next: make([]int, len(cs)), why: map[int]reason{}}
}

// proceed glues what must be glued, given what was glued before. more: there
// was something. Writes that cannot be where they must be are violations.
func (s *settling) proceed() (more bool, found []violation) {
	s.round++
	blocks, bad := chain(s.cs, s.how)
	if bad != nil {
		return false, []violation{s.contradiction(bad...)}
	}
	if clash := clashes(blocks); clash != nil {
		return false, []violation{s.contradiction(heads(blocks, clash[0][:])...)}
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
		because := heads(blocks, p.path(n, at))
		gone := s.gone(p, i, n)
		other, taken := onBasis[x.basis]
		if gone == nil && taken {
			gone = append([]int{x.basis, other}, s.why[other].heads...)
		}
		if gone != nil {
			v := s.contradiction(append(because, gone...)...)
			v.w, v.newest = x.w, s.cs[blocks[n].newest].w
			found = append(found, v)
			continue
		}
		s.why[i], onBasis[x.basis], more = reason{s.round, because}, i, true
	}
	for basis, i := range onBasis {
		s.how[i], s.next[basis] = glued, i
	}
	return more, found
}

// gone: x cannot stand on its basis. It returns the blocks that show it; n, the
// block of the newer grant, is among them if it can.
func (s *settling) gone(p *precedence, x, n int) []int {
	at, basis := p.of[x], p.of[s.cs[x].basis]
	there := p.blocks[basis].members
	m := n
	if m == basis || !p.before(basis, m) {
		m = p.between(basis, at)
	}
	switch {
	case there[len(there)-1] != s.cs[x].basis || at == basis: // something else stands there
		return heads(p.blocks, []int{basis, at})
	case p.before(at, basis):
		return heads(p.blocks, p.path(at, basis))
	case m >= 0:
		return heads(p.blocks, append(p.path(basis, m), p.path(m, at)...))
	}
	return nil
}

// contradiction is a violation for which the last write of some blocks, as they
// are now, is to blame. It is shown by them and by all that made them so.
func (s *settling) contradiction(heads ...int) violation {
	type place struct{ round, head int }
	walked, told := map[place]bool{}, map[int]bool{}
	var because []int
	for open := []reason{{s.round, heads}}; len(open) > 0; {
		r := open[len(open)-1]
		open = open[:len(open)-1]
		for _, head := range r.heads {
			if walked[place{r.round, head}] {
				continue
			}
			walked[place{r.round, head}] = true
			because = append(because, head)
			for at := s.next[head]; at != 0 && at != head && s.why[at].round < r.round; at = s.next[at] {
				because = append(because, at)
				if !told[at] {
					told[at] = true
					open = append(open, s.why[at])
				}
			}
		}
	}
	shown := pick(s.cs, because)
	return violation{w: shown[len(shown)-1].w, because: shown}
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

func heads(blocks []block, which []int) []int {
	var out []int
	for _, i := range which {
		out = append(out, blocks[i].members[0])
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
