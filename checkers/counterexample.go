package checkers

import (
	"cmp"
	"slices"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// Counterexample is a piece of a history that is illegal by itself, so that the
// whole is. No cluster of it can be left out: then the rest is legal.
type Counterexample struct {
	Resource string   `json:"resource"`
	Writes   int      `json:"writes"`
	Ops      []string `json:"operations"` // ids, in order of call
	Why      []string `json:"why"`        // why there is no legal order, a sentence each
	File     string   `json:"file,omitempty"`

	History *history.History `json:"-"` // Header.Piece is set
}

// maxCounterexamples is how many are kept of each property, one per resource.
const maxCounterexamples = 16

// shrinkBudget is how long one may be made smaller; a few clusters take no time.
const shrinkBudget = time.Second

// piece makes a history of some clusters of a resource, with every read that
// their place in an order can depend on, but for some.
func piece(h *history.History, e *evidence, p Property, cs []*cluster, without ...*history.Operation) *history.History {
	there := map[string]bool{history.InitialWrite: true}
	for _, c := range cs {
		if c.w != nil {
			there[c.w.op.WriteID] = true
		}
	}
	out := &history.History{File: h.File, Header: h.Header}
	part := history.Piece{Property: string(p)}
	known := map[string]bool{}
	add := func(op *history.Operation) {
		if op == nil || known[op.ID] {
			return
		}
		known[op.ID] = true
		out.Operations = append(out.Operations, *op)
		if g := e.granted[op.Grant]; g != nil && !known[g.id] {
			known[g.id] = true
			out.Operations = append(out.Operations, *g.acquire)
		}
		if op.Kind == history.Write && !there[op.Basis] {
			there[op.Basis] = true
			part.LeftOut = append(part.LeftOut, op.Basis)
		}
	}
	for _, c := range cs {
		if c.w != nil {
			add(c.w.op)
			add(c.w.basis)
		}
		for _, r := range c.telling() {
			if !slices.Contains(without, r) {
				add(r)
			}
		}
	}
	slices.SortStableFunc(out.Operations, func(a, b history.Operation) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.ID, b.ID))
	})
	out.Header.Piece, out.Header.Resources, out.Header.Workers = &part, []string{e.name}, nil
	for _, op := range out.Operations {
		if op.Worker != "" && !slices.Contains(out.Header.Workers, op.Worker) {
			out.Header.Workers = append(out.Header.Workers, op.Worker)
		}
	}
	return out
}

// telling are the reads that bound the place of a cluster.
func (c *cluster) telling() []*history.Operation {
	var out []*history.Operation
	for _, r := range []*history.Operation{c.lastCalled(), c.firstReturned()} {
		if r != nil {
			out = append(out, r)
		}
	}
	return out
}

// lastCalled is the read that must come after whatever returned before it; nil
// if the write itself was called as late.
func (c *cluster) lastCalled() *history.Operation {
	for _, r := range c.reads {
		if r.Call == c.maxCall && (c.w == nil || r.Call > c.w.op.Call) {
			return r
		}
	}
	return nil
}

// firstReturned is the read that shows at the earliest that the write had taken
// effect; nil if the write itself returned as early.
func (c *cluster) firstReturned() *history.Operation {
	var first *history.Operation
	for _, r := range c.reads {
		if (c.w == nil || r.Return < c.w.op.Return) && (first == nil || r.Return < first.Return) {
			first = r
		}
	}
	return first
}

// judgePiece has Porcupine judge a piece, as it would judge any history.
func (m *model) judgePiece(h *history.History, budget time.Duration) answer {
	return m.searchWhole(gather(h)[0], nil, budget)
}

// shrink leaves out clusters as long as the rest is illegal, and then no more
// can be left out. budget bounds the whole; when it is over, it returns the
// smallest that it has got to.
//
// It divides and tries (Junker, "QuickXPlain", 2004), so that few of many are
// found in few tries.
func (m *model) shrink(h *history.History, e *evidence, cs []*cluster, budget time.Duration) []*cluster {
	deadline := time.Now().Add(budget)
	shows := func(some []*cluster) bool {
		left := time.Until(deadline)
		if left <= 0 {
			return false
		}
		part := gather(piece(h, e, m.property, some))[0]
		if d := m.decide(clusters(part)); d.answer != unknown {
			return d.answer == illegal
		}
		return m.searchWhole(part, nil, left) == illegal
	}
	var explain func(kept, rest []*cluster, more bool) []*cluster
	explain = func(kept, rest []*cluster, more bool) []*cluster {
		if more && shows(kept) {
			return nil
		}
		if len(rest) == 1 {
			return rest
		}
		first, second := rest[:len(rest)/2], rest[len(rest)/2:]
		ofSecond := explain(slices.Concat(kept, first), second, true)
		ofFirst := explain(slices.Concat(kept, ofSecond), first, len(ofSecond) > 0)
		return slices.Concat(ofFirst, ofSecond)
	}
	if small := explain(nil, cs, false); len(small) < len(cs) && shows(small) {
		return small
	}
	return cs
}

// counterexample is the smallest piece of some clusters that are illegal, with
// no more reads than it takes.
func (m *model) counterexample(h *history.History, e *evidence, cs []*cluster) Counterexample {
	small := m.shrink(h, e, cs, shrinkBudget)
	var without []*history.Operation
	for _, c := range small {
		for _, r := range c.telling() {
			fewer := piece(h, e, m.property, small, append(without, r)...)
			if m.decide(clusters(gather(fewer)[0])).answer == illegal {
				without = append(without, r)
			}
		}
	}
	x := Counterexample{Resource: e.name, History: piece(h, e, m.property, small, without...)}
	x.Why = m.why(clusters(gather(x.History)[0]), x.History.Operations[0].Call)
	for _, op := range x.History.Operations {
		x.Ops = append(x.Ops, op.ID)
		if op.Kind == history.Write {
			x.Writes++
		}
	}
	return x
}
