package sequential

import (
	"cmp"
	"slices"

	"github.com/torture-harness/torture/harness/foreign"
)

// cluster is a write, or a compare-and-set, with the reads that saw its value.
// In any legal order they stand together, the write first (Gibbons and Korach,
// "Testing shared memories", SIAM J. Comput. 26, 1997).
//
// The edge X→Y, "X must stand before Y", holds if something in X had returned
// before something in Y was called.
type cluster struct {
	write      int   // in the entries
	first      int64 // the earliest return in the cluster
	last       int64 // the latest call
	firstOp    int   // whose they are
	lastOp     int
	next, prev int // clusters of the compare-and-set from its value, and of the value it came from; -1
	block      int // see blocks
}

func (x *cluster) add(i int, e *entry) {
	if e.ret < x.first {
		x.first, x.firstOp = e.ret, i
	}
	if e.call > x.last {
		x.last, x.lastOp = e.call, i
	}
}

// clusters decides without a search where every value is written at most once,
// and not nil, and no outcome is unknown any more; elsewhere it does not know.
// A history that is not linearizable comes with operations that show it.
// O(n log n).
func (m *Model) clusters(es []entry) (answer, []*foreign.Operation) {
	answer, culprits := m.byClusters(es)
	return answer, withSettlers(es, culprits)
}

// withSettlers adds the operations from which it is known that others took
// effect, and when.
func withSettlers(es []entry, culprits []int) []*foreign.Operation {
	var out []*foreign.Operation
	settled := map[*foreign.Operation]*foreign.Operation{}
	if len(culprits) > 0 {
		for _, e := range es {
			settled[e.op] = e.settled
		}
	}
	for _, i := range culprits {
		for op := es[i].op; op != nil && !slices.Contains(out, op); op = settled[op] {
			out = append(out, op)
		}
	}
	return out
}

func (m *Model) byClusters(es []entry) (answer, []int) {
	if !m.register {
		return unknown, nil
	}
	cs, of, ok := gather(es)
	if !ok {
		return unknown, nil
	}
	if bad := observed(es, cs, of); bad != nil {
		return illegal, bad
	}
	for _, e := range es {
		if e.unknown {
			return unknown, nil
		}
	}
	var bad []int
	if m == &fencedRegister {
		bad = byToken(es, cs)
	} else {
		bad = byBlock(es, cs, of)
	}
	if bad != nil {
		return illegal, bad
	}
	return legal, nil
}

// gather makes the clusters; of gives that of a value. ok is false where a value
// is written twice.
func gather(es []entry) (cs []cluster, of map[int32]int, ok bool) {
	of = map[int32]int{}
	for i := range es {
		e := &es[i]
		if e.kind == reads {
			continue
		}
		if _, twice := of[e.to]; twice || e.to == none {
			return nil, nil, false
		}
		of[e.to] = len(cs)
		cs = append(cs, cluster{write: i, first: e.ret, last: e.call, firstOp: i, lastOp: i, next: -1, prev: -1})
	}
	for i := range es {
		if c, written := of[es[i].from]; written && es[i].kind == reads {
			cs[c].add(i, &es[i])
		}
	}
	return cs, of, true
}

// observed: what was observed was written, and not after the observer had
// returned; and a value was exchanged once, for the exchange takes it away.
func observed(es []entry, cs []cluster, of map[int32]int) []int {
	exchanged := map[int32]int{}
	for i := range es {
		e := &es[i]
		if e.kind == writes || e.unknown {
			continue
		}
		c, written := of[e.from]
		switch {
		case e.from == none: // a compare-and-set of what was there at first
		case !written:
			return []int{i}
		case e.ret < es[cs[c].write].call:
			return []int{i, cs[c].write}
		}
		if e.kind != swaps {
			continue
		}
		if other, again := exchanged[e.from]; again {
			if written {
				return []int{other, i, cs[c].write}
			}
			return []int{other, i}
		}
		exchanged[e.from] = i
	}
	return nil
}

// byToken: tokens put the clusters of a fenced register in order; those with
// one token may stand in any order. So the history is linearizable iff no
// cluster must stand before one with a smaller token, and the clusters of each
// token can be ordered (see knot).
//
// Proof. Both are needed: an order that is legal never goes down in tokens. If
// both hold, put the tokens in order and the clusters of each in theirs: no edge
// goes against it.
func byToken(es []entry, cs []cluster) []int {
	order := make([]int, len(cs))
	for i := range order {
		order[i] = i
	}
	token := func(i int) int64 { return es[cs[i].write].token }
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(token(b), token(a)) })
	earliest := -1 // the cluster with the earliest return among those with larger tokens
	for from := 0; from < len(order); {
		to := from
		for to < len(order) && token(order[to]) == token(order[from]) {
			to++
		}
		same := order[from:to]
		for _, y := range same {
			if earliest >= 0 && cs[earliest].first < cs[y].last {
				return distinct(cs[earliest].write, cs[earliest].firstOp, cs[y].write, cs[y].lastOp)
			}
		}
		group := make([]span, len(same))
		for i, c := range same {
			group[i] = span{cs[c].first, cs[c].last}
		}
		if i, j, found := knot(group); found {
			x, y := cs[same[i]], cs[same[j]]
			return distinct(x.write, x.firstOp, x.lastOp, y.write, y.firstOp, y.lastOp)
		}
		for _, y := range same {
			if earliest < 0 || cs[y].first < cs[earliest].first {
				earliest = y
			}
		}
		from = to
	}
	return nil
}

// byBlock: a compare-and-set stands directly behind the cluster of the value it
// came from, so the clusters form chains, here blocks, which stand together. The
// history is linearizable iff within each block no cluster must stand before an
// earlier one, the blocks can be ordered (see knot), and the block that begins
// with what the register held at first need not stand behind another one.
func byBlock(es []entry, cs []cluster, of map[int32]int) []int {
	for c := range cs {
		if e := &es[cs[c].write]; e.kind == swaps && e.from != none {
			cs[c].prev = of[e.from]
			cs[of[e.from]].next = c
		}
	}
	var blocks []span
	var firsts, lasts []int // clusters of the ends of each block's span
	begin := -1             // the block of what was there at first
	seen := 0
	for root := range cs {
		if cs[root].prev >= 0 {
			continue
		}
		b := len(blocks)
		if es[cs[root].write].kind == swaps {
			begin = b
		}
		first, last := root, root
		for c := root; c >= 0; c = cs[c].next {
			seen++
			cs[c].block = b
			if cs[c].first < cs[last].last && c != last {
				return chain(cs, last, c)
			}
			if cs[c].first < cs[first].first {
				first = c
			}
			if cs[c].last > cs[last].last {
				last = c
			}
		}
		blocks = append(blocks, span{cs[first].first, cs[last].last})
		firsts, lasts = append(firsts, first), append(lasts, last)
	}
	if seen < len(cs) {
		return ring(cs)
	}
	if i, j, found := knot(blocks); found {
		return distinct(append(chain(cs, firsts[i], lasts[i]), chain(cs, firsts[j], lasts[j])...)...)
	}
	for b := range blocks {
		if begin >= 0 && b != begin && blocks[b].first < blocks[begin].last {
			root := lasts[begin]
			for cs[root].prev >= 0 {
				root = cs[root].prev
			}
			return distinct(append(chain(cs, root, lasts[begin]), chain(cs, firsts[b], firsts[b])...)...)
		}
	}
	return nil
}

// chain is what shows where two clusters of one block stand: their own first
// and last operations, and the writes that link them.
func chain(cs []cluster, a, b int) []int {
	out := []int{cs[a].firstOp, cs[a].lastOp, cs[b].firstOp, cs[b].lastOp, cs[a].write, cs[b].write}
	for _, way := range [][2]int{{a, b}, {b, a}} {
		var between []int
		for c := cs[way[0]].next; c >= 0; c = cs[c].next {
			if c == way[1] {
				return distinct(append(out, between...)...)
			}
			between = append(between, cs[c].write)
		}
	}
	return distinct(out...)
}

// ring is a chain without a beginning: each value came from the next one.
func ring(cs []cluster) []int {
	inChain := make([]bool, len(cs))
	for root := range cs {
		for c := root; cs[root].prev < 0 && c >= 0; c = cs[c].next {
			inChain[c] = true
		}
	}
	start := slices.Index(inChain, false)
	out := []int{cs[start].write}
	for c := cs[start].next; c != start; c = cs[c].next {
		out = append(out, cs[c].write)
	}
	return out
}

// span is the earliest return and the latest call of what stands together.
type span struct{ first, last int64 }

// knot finds two that must each stand before the other.
//
// If there are none, all can be ordered: take a shortest cycle X1→X2→…→X1 of
// three or more, and in it the X whose first is smallest. Whatever follows some
// other one, follows X as well, so X→Y for each Y of the cycle; also for the one
// before X in the cycle. That pair is a cycle of two.
func knot(spans []span) (i, j int, found bool) {
	order := make([]int, len(spans))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(spans[a].first, spans[b].first) })
	// best[n] are the two with the latest calls among the first n in order.
	best := make([][2]int, len(order)+1)
	best[0] = [2]int{-1, -1}
	for n, x := range order {
		b := best[n]
		switch {
		case b[0] < 0 || spans[x].last > spans[b[0]].last:
			b = [2]int{x, b[0]}
		case b[1] < 0 || spans[x].last > spans[b[1]].last:
			b[1] = x
		}
		best[n+1] = b
	}
	for y := range spans {
		n, _ := slices.BinarySearchFunc(order, spans[y].last, func(x int, last int64) int { return cmp.Compare(spans[x].first, last) })
		for _, x := range best[n] {
			if x >= 0 && x != y && spans[y].first < spans[x].last {
				return x, y, true
			}
		}
	}
	return 0, 0, false
}

func distinct(ops ...int) []int {
	slices.Sort(ops)
	return slices.Compact(ops)
}
