package sequential

import "github.com/torture-harness/torture/harness/foreign"

// reduce makes a history with unknown outcomes easier without changing whether
// it is linearizable. An unknown operation may take effect at any time after its
// call, or never. The result shares nothing with es.
//
// The rules are exact each by itself, so that it does not matter when one stops
// to apply them. For every model:
//
//  0. Drop an unknown operation that was called after every completed one had
//     returned: it can only stand behind them, where nobody notices.
//
// For registers also:
//
//  1. Drop an unknown operation that leaves v behind if nothing that may stand
//     after its call observes v. (A completed read of v or compare-and-set from
//     v observes v until it returns; an unknown compare-and-set from v always.)
//     Leaving it out is one of its outcomes, so nothing illegal becomes legal
//     that was not before. Conversely, take a legal order in which it took
//     effect. Until the next effective write the register holds v, and nothing
//     stands there that observes: it would observe v. Take it out. Nobody
//     notices; a compare-and-set that had no effect still has none, that being
//     one of its outcomes; and of a fenced register the largest token only falls,
//     which forbids nothing.
//  2. Drop an unknown compare-and-set [v v]: with or without it the state is
//     the same.
//  3. An unknown operation that is the only one to leave v behind, v not being
//     what the register held at first, took effect if a completed operation
//     observes v, and before that returned. So it becomes a completed one, which
//     returned with the first of those. A completed one returned by then, too.
//     (If that was before its call, the history is illegal, and stays so.)
//
// A mutex is left as it is: an unknown acquisition enables a release, and an
// unknown release an acquisition, so neither may be left out because nobody
// names it. Unknown operations stay open to the end (see question).
func (m *Model) reduce(es []entry) []entry {
	out := withoutLate(es)
	if !m.register {
		return out
	}
	// Every pass takes something away or settles something; few are ever needed.
	for range 100 {
		n := len(out)
		out = drop(out)
		if settled := settle(out); len(out) == n && !settled {
			break
		}
	}
	return out
}

// withoutLate applies rule 0 to a copy.
func withoutLate(es []entry) []entry {
	var last int64
	for _, e := range es {
		if !e.unknown {
			last = max(last, e.ret)
		}
	}
	var out []entry
	for _, e := range es {
		if !e.unknown || e.call < last {
			out = append(out, e)
		}
	}
	return out
}

// observers knows who observes a value.
type observers struct {
	first, last int64 // the earliest and the latest return of a completed one
	firstBy     *foreign.Operation
	completed   int
	unknown     int
	writers     int // of the value
}

func observe(es []entry) map[int32]*observers {
	out := map[int32]*observers{}
	of := func(v int32) *observers {
		if out[v] == nil {
			out[v] = &observers{first: foreign.Never}
		}
		return out[v]
	}
	for _, e := range es {
		if e.kind != reads {
			of(e.to).writers++
		}
		if e.kind == writes {
			continue
		}
		o := of(e.from)
		if e.unknown {
			o.unknown++
			continue
		}
		o.completed++
		o.last = max(o.last, e.ret)
		if e.ret < o.first {
			o.first, o.firstBy = e.ret, e.op
		}
	}
	return out
}

// drop applies rules 1 and 2.
func drop(es []entry) []entry {
	seen := observe(es)
	kept := es[:0]
	for _, e := range es {
		if e.unknown {
			o := seen[e.to]
			needed := o.unknown > 0 || o.completed > 0 && o.last > e.call
			if e.kind == swaps && e.from == e.to || !needed {
				continue
			}
		}
		kept = append(kept, e)
	}
	return kept
}

// settle applies rule 3.
func settle(es []entry) (changed bool) {
	seen := observe(es)
	for i := range es {
		e := &es[i]
		if e.kind == reads || e.to == none || e.kind == swaps && e.from == e.to {
			continue
		}
		o := seen[e.to]
		if o.writers == 1 && o.completed > 0 && e.call < o.first && o.first < e.ret {
			e.unknown, e.ret, e.settled, changed = false, o.first, o.firstBy, true
		}
	}
	return changed
}
