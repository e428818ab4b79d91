package checkers

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/torture-harness/torture/harness/history"
)

// Explanation is Porcupine's view of one anomaly, for its visualizer.
type Explanation struct {
	Model      porcupine.Model
	Info       porcupine.LinearizationInfo
	Result     porcupine.CheckResult // of the window; Illegal unless the anomaly was hidden from clients
	Operations []porcupine.Operation
	Clients    []string // by porcupine.Operation.ClientId
	From, To   int64    // ns, first call and last return in the window
}

// How much is shown. Porcupine's page grows with the square of it.
const windowWrites = 40 // around the anomaly

// windowReads is how many reads of each write are kept, besides those of the
// example: more only if fewer do not show the anomaly.
var windowReads = []int{2, 20}

// Explain asks Porcupine about the surroundings of one anomaly. h must be valid.
//
// The window is a sound piece of the whole: if it is illegal, so is the whole
// history. It keeps the initial document and some writes, with some of the
// reads that saw them; a write whose basis lies outside is taken to stand on it.
func Explain(h *history.History, p Property, x Example, budget time.Duration) (*Explanation, error) {
	m := modelOf(p)
	if m == nil {
		return nil, fmt.Errorf("%s is not a question of linearizability", p)
	}
	all := gather(h)
	i := slices.IndexFunc(all, func(e *evidence) bool { return e.name == x.Resource })
	if i < 0 {
		return nil, fmt.Errorf("the history has no resource %q", x.Resource)
	}
	var out *Explanation
	for _, reads := range windowReads {
		out = window(all[i], x, windowWrites, reads)
		out.Model = porcupineModel(m.legal, m.newest, state{current: initial, newest: past})
		out.Result, out.Info = porcupine.CheckOperationsVerbose(out.Model, out.Operations, max(budget, time.Millisecond))
		if out.Result == porcupine.Illegal {
			break // fewer reads suffice to show it
		}
	}
	return out, nil
}

func modelOf(p Property) *model {
	for _, m := range models {
		if m.property == p {
			return m
		}
	}
	return nil
}

// window cuts out the writes of the example and those nearest to it in time.
func window(e *evidence, x Example, writes, readsOfEach int) *Explanation {
	cs := clusters(e)
	part := func(c *cluster) bool { return slices.Contains(x.Ops, c.w.op.ID) || c.w.op.ID == x.Culprit }
	near := slices.Clone(cs[1:])
	distance := func(c *cluster) int64 {
		if part(c) {
			return -1
		}
		return max(c.w.op.Call-x.At, x.At-c.w.op.Call)
	}
	slices.SortStableFunc(near, func(a, b *cluster) int { return cmp.Compare(distance(a), distance(b)) })
	kept := map[string]bool{history.InitialWrite: true}
	for _, c := range near[:min(len(near), writes)] {
		kept[c.w.op.WriteID] = true
	}
	reads := map[string][]*history.Operation{}
	for _, r := range e.reads {
		if seen := reads[r.WriteID]; kept[r.WriteID] && (len(seen) < readsOfEach || slices.Contains(x.Ops, r.ID)) {
			reads[r.WriteID] = append(seen, r)
		}
	}

	out := &Explanation{From: future, To: past}
	n := number(e)
	add := func(op *history.Operation, in *step, ret int64) {
		client := slices.Index(out.Clients, op.Client)
		if client < 0 {
			client = len(out.Clients)
			out.Clients = append(out.Clients, op.Client)
		}
		out.Operations = append(out.Operations, porcupine.Operation{ClientId: client, Input: in, Call: op.Call, Return: ret})
		out.From, out.To = min(out.From, op.Call), max(out.To, ret)
	}
	for _, c := range cs {
		id := history.InitialWrite
		if c.w != nil {
			if id = c.w.op.WriteID; !kept[id] {
				continue
			}
			in := n.write(c.w)
			if !kept[c.w.op.Basis] {
				in.basis = anyWrite
			}
			add(c.w.op, in, c.w.ret)
		}
		for _, r := range reads[id] {
			add(r, &step{id: n[id], op: r}, r.Return)
		}
	}
	return out
}
