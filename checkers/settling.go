package checkers

import "slices"

// settling finds out, round by round, which writes can only stand on their
// bases, because a write of a newer grant certainly stands before them.
type settling struct {
	cs    []*cluster
	how   []manner       // glued, or loose: nothing is known yet
	next  []int          // what is glued to a cluster; 0 for nothing
	why   map[int]reason // of each glued write
	glued int            // how many
}

// reason names the blocks from which something followed, by their first
// clusters, as they were when fewer than so many writes were glued.
type reason struct {
	glued int
	heads []int
}

func settle(cs []*cluster) *settling {
	return &settling{cs: cs, how: all(cs, loose), next: make([]int, len(cs)), why: map[int]reason{}}
}

// proceed glues what must be glued, given what was glued before. more: there
// was something. Writes that cannot be where they must be are violations.
func (s *settling) proceed() (more bool, found []violation) {
	blocks, bad := chain(s.cs, s.how)
	if bad != nil {
		for _, i := range bad {
			bad = append(bad, s.why[i].heads...)
		}
		return false, []violation{s.contradiction(bad...)}
	}
	if clash := clashes(blocks); clash != nil {
		return false, []violation{s.contradiction(heads(blocks, clash[0][:])...)}
	}
	p := newPrecedence(len(s.cs), blocks)
	for i, x := range s.cs {
		if !s.mayBeFenced(i) {
			continue
		}
		n := p.newest(p.of[i], x.grantRet)
		if n < 0 {
			continue
		}
		because := heads(blocks, p.path(n, p.of[i]))
		for {
			if gone := s.gone(p, i, n); gone != nil {
				v := s.contradiction(append(gone, because...)...)
				v.w, v.newest = s.cs[i].w, s.cs[blocks[n].newest].w
				found = append(found, v)
				break
			}
			s.glue(i, because)
			more = true
			// The block on which it stands now comes after n too.
			basis := p.of[s.cs[i].basis]
			if i = blocks[basis].members[0]; basis == n || !s.mayBeFenced(i) || s.cs[i].grantRet >= blocks[n].age.begin {
				break
			}
			because = append(slices.Clone(because), i)
		}
	}
	return more, found
}

// mayBeFenced: nothing is known of a write that says otherwise.
func (s *settling) mayBeFenced(i int) bool {
	return i != 0 && s.cs[i].basis != outside && s.how[i] == loose
}

func (s *settling) glue(i int, because []int) {
	s.glued++
	s.how[i], s.next[s.cs[i].basis], s.why[i] = glued, i, reason{s.glued, because}
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
	case s.next[s.cs[x].basis] != 0 && there[len(there)-1] == s.cs[x].basis: // so does another write, since a moment
		return heads(p.blocks, []int{basis, p.of[s.next[s.cs[x].basis]]})
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
	told := map[int]int{} // clusters to how much had been glued when they were told of
	var because []int
	for open := []reason{{s.glued + 1, heads}}; len(open) > 0; {
		r := open[len(open)-1]
		open = open[:len(open)-1]
		for _, head := range r.heads {
			for at := head; told[at] < r.glued; at = s.next[at] {
				if told[at] == 0 {
					because = append(because, at)
				}
				told[at] = r.glued
				if why, ok := s.why[at]; ok && at != head {
					open = append(open, why)
				}
				if next := s.next[at]; next == 0 || s.why[next].glued >= r.glued {
					break
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
