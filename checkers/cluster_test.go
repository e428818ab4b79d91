package checkers

import (
	"testing"

	"github.com/torture-harness/torture/harness/history"
)

// TestInOrder: which cluster is late, and behind which of those before it.
func TestInOrder(t *testing.T) {
	for _, c := range []struct {
		name      string
		order     []*cluster
		bad, late int // places; -1 for none
	}{
		{"nothing", nil, -1, -1},
		{"one after the other", []*cluster{{maxCall: 1, minRet: 2}, {maxCall: 3, minRet: 4}}, -1, -1},
		{"touching", []*cluster{{maxCall: 4, minRet: 5}, {maxCall: 3, minRet: 4}}, -1, -1},
		{"turned round", []*cluster{{maxCall: 5, minRet: 6}, {maxCall: 3, minRet: 4}}, 1, 0},
		{"behind one long before", []*cluster{{maxCall: 10, minRet: 12}, {maxCall: 5, minRet: 50}, {maxCall: 1, minRet: 8}}, 2, 0},
		{"behind the latest", []*cluster{{maxCall: 1, minRet: 100}, {maxCall: 50, minRet: 60}, {maxCall: 1, minRet: 40}}, 2, 1},
		{"behind the first of two", []*cluster{{maxCall: 10, minRet: 20}, {maxCall: 10, minRet: 20}, {maxCall: 1, minRet: 9}}, 2, 0},
		{"itself", []*cluster{{maxCall: 10, minRet: 2}}, -1, -1},
	} {
		bad, late := inOrder(c.order)
		place := func(x *cluster) int {
			for i, y := range c.order {
				if x == y {
					return i
				}
			}
			return -1
		}
		if place(bad) != c.bad || place(late) != c.late {
			t.Errorf("%s: %d behind %d, want %d behind %d", c.name, place(bad), place(late), c.bad, c.late)
		}
	}
}

// TestClusters: a write and the reads that saw it are one, from the earliest
// return to the latest call.
func TestClusters(t *testing.T) {
	h := recorded(acquires("A", "gA", 1, 2), reads("A", 3, 4, "w0"), writes("A", "gA", "wA", "w0", 5, 9), observed(6, 7, "wA"), observed(30, 31, "wA"),
		reads("B", 32, 33, "wA"), writes("B", "", "wB", "wA", 40, 50), observed(39, 60, "wB"))
	h.Header.Piece = &history.Piece{LeftOut: []string{"w0"}}
	cs := clusters(gather(h)[0])
	if len(cs) != 3 || cs[0].w != nil {
		t.Fatalf("%d clusters", len(cs))
	}
	a, b := cs[1], cs[2]
	if a.minRet != 7*ms || a.maxCall != 32*ms || a.grantCall != 1*ms || a.grantRet != 2*ms || a.basis != outside {
		t.Errorf("wA: %+v", a)
	}
	if b.minRet != 50*ms || b.maxCall != 40*ms || b.grantCall != 32*ms || b.grantRet != 33*ms || b.basis != 1 {
		t.Errorf("wB: %+v", b)
	}
	if !a.before(b) || b.before(a) || !a.older(b) || b.older(a) || cs[0].older(a) || a.older(cs[0]) {
		t.Error("wA comes first, and its grant is the older one")
	}
	touching := &cluster{grantCall: a.grantRet, grantRet: future}
	if a.older(touching) || a.before(&cluster{maxCall: a.minRet}) {
		t.Error("what touches has no order")
	}
}
