package checkers

import (
	"cmp"
	"slices"

	"github.com/torture-harness/torture/harness/history"
)

// cluster is a write with the reads that saw it. In any legal order of a
// register they stand together, so clusters can be ordered instead of
// operations (Gibbons and Korach, "Testing shared memories", 1997).
type cluster struct {
	w                   *write // nil for the initial document
	maxCall             int64  // the latest call in the cluster
	minRet              int64  // the earliest return
	grantCall, grantRet int64
	basis               int // index of the cluster it was computed from
}

// before: x must stand before y, because something in x had returned when
// something in y was called.
func (x *cluster) before(y *cluster) bool { return x.minRet < y.maxCall }

// older: x must not stand after y where fencing holds.
func (x *cluster) older(y *cluster) bool { return x.grantRet < y.grantCall }

// clusters are the effective writes of a resource by their calls; the first is
// the initial document.
func clusters(e *evidence) []*cluster {
	out := []*cluster{{maxCall: past, minRet: past, grantCall: past, grantRet: future}}
	index := map[string]int{history.InitialWrite: 0}
	for _, w := range e.writes {
		if !w.effective {
			continue
		}
		index[w.op.WriteID] = len(out)
		out = append(out, &cluster{w: w, maxCall: w.op.Call, minRet: w.ret, grantCall: w.grant.call, grantRet: w.grant.ret})
	}
	for _, r := range e.reads {
		c := out[index[r.WriteID]]
		c.maxCall, c.minRet = max(c.maxCall, r.Call), min(c.minRet, r.Return)
	}
	for _, c := range out[1:] {
		c.basis = index[c.w.op.Basis]
	}
	return out
}

// acyclic: the clusters can be put in an order in which none stands before one
// that must come before it; with byAge also none after a newer grant's.
//
// It takes away, again and again, a cluster that may come first: no other one
// left has returned before its last call (or has a grant older than its own).
// Since that only becomes easier, two sorted lists and a pointer into each
// suffice: O(n log n).
func acyclic(cs []*cluster, byAge bool) bool {
	fronts := []*front{newFront(cs, func(c *cluster) (int64, int64) { return c.maxCall, c.minRet })}
	if byAge {
		fronts = append(fronts, newFront(cs, func(c *cluster) (int64, int64) { return c.grantCall, c.grantRet }))
	}
	passed := make([]int, len(cs)) // by how many fronts
	gone := make([]bool, len(cs))
	var free []int
	for left := len(cs); left > 0; left-- {
		for _, f := range fronts {
			f.advance(gone, func(i int) {
				if passed[i]++; passed[i] == len(fronts) {
					free = append(free, i)
				}
			})
		}
		if len(free) == 0 {
			return false
		}
		gone[free[len(free)-1]] = true
		free = free[:len(free)-1]
	}
	return true
}

// front knows which clusters have none left before them in one interval order,
// in which x stands before y iff end(x) < begin(y).
type front struct {
	begin, end     []int64 // by cluster
	byBegin, byEnd []int   // clusters
	next           int     // in byBegin: those before it have passed
	first, second  int     // in byEnd: the two earliest that are left
	passed         []bool
}

func newFront(cs []*cluster, interval func(*cluster) (begin, end int64)) *front {
	f := &front{passed: make([]bool, len(cs)), second: 1}
	for i, c := range cs {
		begin, end := interval(c)
		f.begin, f.end = append(f.begin, begin), append(f.end, end)
		f.byBegin, f.byEnd = append(f.byBegin, i), append(f.byEnd, i)
	}
	slices.SortFunc(f.byBegin, func(a, b int) int { return cmp.Compare(f.begin[a], f.begin[b]) })
	slices.SortFunc(f.byEnd, func(a, b int) int { return cmp.Compare(f.end[a], f.end[b]) })
	return f
}

// advance reports each cluster once, as soon as it has none left before it.
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
			return f.end[f.byEnd[place]]
		}
		return future
	}
	report := func(i int) {
		if !f.passed[i] {
			f.passed[i] = true
			pass(i)
		}
	}
	for ; f.next < len(f.byBegin) && f.begin[f.byBegin[f.next]] <= endOf(f.first); f.next++ {
		report(f.byBegin[f.next])
	}
	// The one that ends first does not stand in its own way.
	if f.first < len(f.byEnd) && f.begin[f.byEnd[f.first]] <= endOf(f.second) {
		report(f.byEnd[f.first])
	}
}

// inOrder: the clusters can stand in exactly this order; if not, bad is the
// first that must stand before an earlier one, late.
func inOrder(cs []*cluster) (bad, late *cluster) {
	var latest *cluster
	for _, c := range cs {
		if latest != nil && c.before(latest) {
			return c, latest
		}
		if latest == nil || c.maxCall > latest.maxCall {
			latest = c
		}
	}
	return nil, nil
}

func answerOf(ok bool) answer {
	if ok {
		return legal
	}
	return illegal
}
