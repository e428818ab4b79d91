package checkers

import (
	"testing"

	"github.com/torture-harness/torture/harness/history"
)

// TestStep: what a model remembers of a write, and that a rule which does not
// look at the age of grants is not bothered with it.
func TestStep(t *testing.T) {
	from := state{current: initial, newest: 5}
	read := func(id int32) *step { return &step{id: id} }
	write := &step{write: true, id: 1, basis: initial, grantCall: 9, grantRet: 10}
	for _, c := range []struct {
		name string
		m    *model
		in   *step
		ok   bool
		next state
	}{
		{"a read of what is there", &registerModel, read(initial), true, from},
		{"a read of what is not", &registerModel, read(1), false, from},
		{"a write", &registerModel, write, true, state{1, 5}},
		{"a write of a newer grant", &fenceOrderModel, write, true, state{1, 9}},
		{"a write of a grant of long ago", &fenceOrderModel, &step{write: true, id: 1, grantCall: 1, grantRet: 4}, false, from},
		{"a write of one that touches", &fenceOrderModel, &step{write: true, id: 1, grantCall: 1, grantRet: 5}, true, state{1, 5}},
		{"on its basis", &rmwAtomicModel, write, true, state{1, 5}},
		{"on another", &rmwAtomicModel, &step{write: true, id: 1, basis: 3}, false, from},
		{"on one that was left out", &rmwAtomicModel, &step{write: true, id: 1, basis: anyWrite}, true, state{1, 5}},
		{"old, on its basis", &staleOverwriteModel, &step{write: true, id: 1, basis: initial, grantRet: 4}, true, state{1, 5}},
		{"old, on another", &staleOverwriteModel, &step{write: true, id: 1, basis: 3, grantRet: 4}, false, from},
	} {
		ok, next := porcupineModel(c.m.legal, c.m.newest, from).Step(from, c.in, nil)
		if ok != c.ok || next != c.next {
			t.Errorf("%s: %v %v, want %v %v", c.name, ok, next, c.ok, c.next)
		}
	}
}

// TestNumbering: a basis that is not there fits every state.
func TestNumbering(t *testing.T) {
	e := gather(recorded(reads("A", 1, 2, "init"), writes("A", "", "wA", "init", 3, 4), reads("B", 5, 6, "wA"), writes("B", "", "wB", "wA", 7, 8)))[0]
	n := number(e)
	delete(n, "wA")
	a, b := n.write(e.byID["wA"]), n.write(e.byID["wB"])
	if a.basis != initial || b.basis != anyWrite || b.id == initial {
		t.Errorf("bases %d and %d, id %d", a.basis, b.basis, b.id)
	}
}

// TestDescribe: what is put into Porcupine's page, as HTML.
func TestDescribe(t *testing.T) {
	plain := writes("A", "", "w<1>", "init", 1, 2)
	full := token(7, writes("A", "gA", "w2", "w<1>", 3, 4))
	seen := reads("A", 5, 6, "w<1>")
	for want, s := range map[string]*step{
		"write w&lt;1&gt; (#1) on init":                {write: true, id: 1, op: &plain},
		"write w2 (#2) on w&lt;1&gt; under gA token 7": {write: true, id: 2, op: &full},
		"read → w&lt;1&gt; (#1)":                       {id: 1, op: &seen},
	} {
		if got := describe(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestClientsAreNumbered: the visualizer needs numbers from 0 without a gap, the
// same for all that one client did.
func TestClientsAreNumbered(t *testing.T) {
	e := gather(recorded(reads("A", 1, 2, "init"), writes("A", "", "wA", "init", 3, 4), reads("B", 5, 6, "wA"), reads("A", 7, 8, "wA")))[0]
	who := map[int]map[string]bool{}
	for _, o := range operations(e) {
		if who[o.ClientId] == nil {
			who[o.ClientId] = map[string]bool{}
		}
		who[o.ClientId][o.Input.(*step).op.Client] = true
	}
	if len(who) != 2 || len(who[0]) != 1 || len(who[1]) != 1 {
		t.Errorf("clients by number: %v", who)
	}
}

// TestExclusive: the two-sided rule itself, at its edges.
func TestExclusive(t *testing.T) {
	g, h := &grant{call: 0, ret: 10}, &grant{call: 5, ret: 20}
	for _, c := range []struct {
		gEnd, hEnd int64
		want       bool
	}{
		{21, 11, false}, {20, 11, true}, {21, 10, true}, {15, 11, true}, {21, 7, true}, {19, 9, true}, {past, future, true}, {future, future, false},
	} {
		if got := exclusive(g, h, c.gEnd, c.hEnd); got != c.want {
			t.Errorf("leases until %d and %d: %v, want %v", c.gEnd, c.hEnd, got, c.want)
		}
	}
}

// TestOlder: grants that touch have no order.
func TestOlder(t *testing.T) {
	g := &grant{call: 0, ret: 10}
	for call, want := range map[int64]bool{9: false, 10: false, 11: true, history.Never: true} {
		if got := g.olderThan(&grant{call: call, ret: history.Never}); got != want {
			t.Errorf("called at %d: %v, want %v", call, got, want)
		}
	}
}
