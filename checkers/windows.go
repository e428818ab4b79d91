package checkers

import (
	"cmp"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Porcupine's memory grows with the square of a history, and what it takes for
// an illegal one with much more. So a long history is given to it in windows,
// each with the state that its operations start from (docs/modelling.md).

// sizes of windows, in operations.
type sizes struct {
	along int // along a witness
	apart int // between quiescent points, at least
	ends  int // writes that may come last in a window
}

var ordinary = sizes{along: 256, apart: 64, ends: 8}

// windows is a search through one resource, window by window.
type windows struct {
	limits
	sizes
	m        *model
	deadline time.Time
	why      string // why it was given up
}

// searchWhole asks Porcupine about everything that clients recorded of one
// resource. order is a witness of the search-free check, nil if it has none.
func (m *model) searchWhole(e *evidence, order []*cluster, budget time.Duration) answer {
	w := &windows{limits: e.limits, sizes: ordinary, m: m, deadline: time.Now().Add(budget)}
	var a answer
	if order != nil {
		a = w.follow(e, order)
	} else {
		a = w.divide(operations(e))
	}
	if e.gaveUp = ""; a == unknown {
		e.gaveUp = w.why
	}
	return a
}

var start = state{current: initial, newest: past}

// search asks about one window. With end, a write must be the last of it.
//
// It is the last of all linearizations of the window and a read of it that is
// called after everything else has returned, and whatever comes after it in the
// state may rely on that.
func (w *windows) search(from state, ops []porcupine.Operation, end *int32) answer {
	if end != nil {
		last := int64(past)
		for _, op := range ops {
			last = max(last, op.Return)
		}
		if last > future-2 {
			w.why = outOfTime
			return unknown
		}
		ops = append(ops[:len(ops):len(ops)], porcupine.Operation{Input: &step{id: *end}, Call: last + 1, Return: last + 2})
	}
	a, why := w.limits.search(porcupineModel(w.m.legal, w.m.newest, from), ops, time.Until(w.deadline))
	if a == unknown {
		w.why = why
	}
	return a
}

// after is the state behind operations of which the last write is known.
func (w *windows) after(from state, ops []porcupine.Operation, end int32) state {
	for _, op := range ops {
		if in := op.Input.(*step); in.write && w.m.newest {
			from.newest = max(from.newest, in.grantCall)
		}
	}
	from.current = end
	return from
}

// follow asks about windows of successive operations of a witness: is each legal
// from the state before it, and can it end in the state behind it? If so, and if
// no operation of a later window returned before one of an earlier window was
// called, then the windows' linearizations, one after the other, are one of the
// whole: each begins in the state in which the one before ends, and real time is
// kept within and between them. A witness that does not stand this is wrong,
// which is as bad as an illegal history: the caller takes either for a
// disagreement.
func (w *windows) follow(e *evidence, order []*cluster) answer {
	ops := inWitnessOrder(e, order)
	if len(ops) != e.size() {
		return illegal
	}
	earliest := make([]int64, len(ops)+1) // return from here on
	earliest[len(ops)] = future
	for i, op := range slices.Backward(ops) {
		earliest[i] = min(earliest[i+1], op.Return)
	}
	s, latest := start, int64(past) // call so far
	for from := 0; from < len(ops); from += w.sizes.along {
		if earliest[from] < latest {
			return illegal
		}
		part := ops[from:min(from+w.sizes.along, len(ops))]
		var a answer
		if a, s = w.halves(s, part); a != legal {
			return a
		}
		for _, op := range part {
			latest = max(latest, op.Call)
		}
	}
	return legal
}

// halves asks about a piece of a witness, and about its halves if it is too
// hard; a single operation never is. Between halves real time is checked as it
// is between windows.
func (w *windows) halves(from state, ops []porcupine.Operation) (answer, state) {
	end := from.current
	for _, op := range ops {
		if in := op.Input.(*step); in.write {
			end = in.id
		}
	}
	a := w.search(from, ops, &end)
	if a != unknown || len(ops) == 1 || w.why != outOfMemory {
		return a, w.after(from, ops, end)
	}
	first, second := ops[:len(ops)/2], ops[len(ops)/2:]
	for _, x := range first {
		for _, y := range second {
			if y.Return < x.Call {
				return illegal, from
			}
		}
	}
	if a, from = w.halves(from, first); a != legal {
		return a, from
	}
	return w.halves(from, second)
}

// inWitnessOrder are the operations of clusters in their order: each write and
// then its reads.
func inWitnessOrder(e *evidence, order []*cluster) []porcupine.Operation {
	there := make([]bool, len(e.writes)+1)
	out := make([]porcupine.Operation, 0, e.size())
	for _, c := range order {
		id := initial
		if c.w != nil {
			id = c.w.number
			out = append(out, porcupine.Operation{Input: e.step(c.w), Call: c.w.op.Call, Return: c.w.ret})
		}
		if there[id] {
			return nil // twice
		}
		there[id] = true
		for _, r := range c.reads {
			out = append(out, porcupine.Operation{Input: &step{id: id, op: r}, Call: r.Call, Return: r.Return})
		}
	}
	return out
}

// divide asks about windows between quiescent points, at which nothing is open:
// whatever was called before such a point comes before whatever was called after
// it, in every linearization. So a linearization of the whole is one of the first
// window, followed by one of the second, and so on, and between two windows only
// the state matters. Its newest grant is known, for all writes before the point
// count, in any order. Its current write is one of those that can come last in
// the window. For each of them it is asked whether the window can be legal and
// end with it, from each of those that the window can begin with. The whole is
// legal iff an end of the last window can be reached, and illegal iff none can.
func (w *windows) divide(ops []porcupine.Operation) answer {
	slices.SortStableFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	reached := []state{start}  // certainly
	possible := []state{start} // or perhaps, for a search was given up
	for len(ops) > 0 {
		size, ends := w.next(ops)
		part := ops[:size]
		ops = ops[size:]
		var sure, perhaps []state
		for _, from := range possible {
			tries := make([]*int32, 0, len(ends))
			for i := range ends {
				tries = append(tries, &ends[i])
			}
			switch {
			case len(ops) == 0:
				tries = []*int32{nil} // nothing follows, any end will do
			case len(ends) == 0:
				tries = []*int32{&from.current} // nothing was written
			}
			for _, end := range tries {
				a := w.search(from, part, end)
				if a == illegal {
					continue
				}
				to := from
				if end != nil {
					to = w.after(from, part, *end)
				}
				if !slices.Contains(perhaps, to) {
					perhaps = append(perhaps, to)
				}
				if a == legal && slices.Contains(reached, from) && !slices.Contains(sure, to) {
					sure = append(sure, to)
				}
			}
		}
		if len(perhaps) == 0 {
			return illegal
		}
		reached, possible = sure, perhaps
	}
	if len(reached) > 0 {
		return legal
	}
	return unknown
}

// next is how many operations, which are in the order of their calls,
// stand before a quiescent point, and the writes that can be the last of them.
func (z sizes) next(ops []porcupine.Operation) (size int, ends []int32) {
	open := int64(past) // until then something is
	for i, op := range ops {
		if i >= z.apart && open < op.Call {
			if ends = lastWrites(ops[:i]); len(ends) <= z.ends {
				return i, ends
			}
		}
		open = max(open, op.Return)
	}
	return len(ops), nil
}

// lastWrites are the writes that no other certainly follows. A write stands
// before another if it, or a read that saw it, had returned when the other, or a
// read that saw that, was called.
func lastWrites(ops []porcupine.Operation) []int32 {
	type extent struct {
		maxCall, minRet int64
	}
	written := map[int32]*extent{}
	var ids []int32
	for _, op := range ops {
		if in := op.Input.(*step); in.write {
			written[in.id] = &extent{op.Call, op.Return}
			ids = append(ids, in.id)
		}
	}
	first, second := int64(past), int64(past) // the latest calls
	for _, op := range ops {
		if x := written[op.Input.(*step).id]; x != nil {
			x.maxCall, x.minRet = max(x.maxCall, op.Call), min(x.minRet, op.Return)
		}
	}
	for _, x := range written {
		if x.maxCall > first {
			first, second = x.maxCall, first
		} else {
			second = max(second, x.maxCall)
		}
	}
	return slices.DeleteFunc(ids, func(id int32) bool {
		x := written[id]
		if x.maxCall == first { // it does not follow itself
			return x.minRet < second
		}
		return x.minRet < first
	})
}
