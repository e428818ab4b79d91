package checkers

import (
	"cmp"
	"slices"
)

// interval is a stretch of time; one stands before another iff its end is less
// than the other's begin. A begin may lie after its own end: nothing stands
// before itself.
type interval struct{ begin, end int64 }

// topological puts n things in an order in which none stands before one that
// must come before it in any of the given relations; ok is false if they form
// a cycle.
//
// It takes away, again and again, one that may come first: no other one left
// ends before its begin, in any relation. Since that only becomes easier, two
// sorted lists and a pointer into each suffice: O(n log n).
func topological(n int, relations ...[]interval) (order []int, ok bool) {
	var fronts []*front
	for _, r := range relations {
		fronts = append(fronts, newFront(r))
	}
	order = make([]int, 0, n)
	passed := make([]int, n) // by how many fronts
	gone := make([]bool, n)
	var free []int
	for range n {
		for _, f := range fronts {
			f.advance(gone, func(i int) {
				if passed[i]++; passed[i] == len(fronts) {
					free = append(free, i)
				}
			})
		}
		if len(free) == 0 {
			return order, false
		}
		next := free[len(free)-1]
		free = free[:len(free)-1]
		gone[next] = true
		order = append(order, next)
	}
	return order, true
}

// front knows which things have none left before them in one relation.
type front struct {
	all            []interval
	byBegin, byEnd []int
	next           int // in byBegin: those before it have passed
	first, second  int // in byEnd: the two earliest that are left
	passed         []bool
}

func newFront(all []interval) *front {
	f := &front{all: all, passed: make([]bool, len(all)), second: 1}
	for i := range all {
		f.byBegin, f.byEnd = append(f.byBegin, i), append(f.byEnd, i)
	}
	slices.SortStableFunc(f.byBegin, func(a, b int) int { return cmp.Compare(all[a].begin, all[b].begin) })
	slices.SortStableFunc(f.byEnd, func(a, b int) int { return cmp.Compare(all[a].end, all[b].end) })
	return f
}

// advance reports each thing once, as soon as it has none left before it.
func (f *front) advance(gone []bool, pass func(i int)) {
	for f.first < len(f.byEnd) && gone[f.byEnd[f.first]] {
		f.first++
	}
	f.second = max(f.second, f.first+1)
	for f.second < len(f.byEnd) && gone[f.byEnd[f.second]] {
		f.second++
	}
	endOf := func(place int) int64 {
		if place < len(f.byEnd) {
			return f.all[f.byEnd[place]].end
		}
		return future
	}
	report := func(i int) {
		if !f.passed[i] {
			f.passed[i] = true
			pass(i)
		}
	}
	for ; f.next < len(f.byBegin) && f.all[f.byBegin[f.next]].begin <= endOf(f.first); f.next++ {
		report(f.byBegin[f.next])
	}
	// The one that ends first does not stand in its own way.
	if f.first < len(f.byEnd) && f.all[f.byEnd[f.first]].begin <= endOf(f.second) {
		report(f.byEnd[f.first])
	}
}
