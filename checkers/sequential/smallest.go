package sequential

import (
	"slices"
	"time"

	"github.com/torture-harness/torture/harness/foreign"
)

// What making a counterexample smaller may take: shorter histories are as hard
// as the whole at worst, so a step may take as long as that has taken.
const (
	shrinkSteps  = 20
	shrinkBudget = 10 * time.Second // at least
	stepBudget   = time.Second      // at least
)

// weakened is the history in which only the operations that keep names are
// certain: of the others it is left open whether and when they took effect after
// their calls. That allows more, never less; so if it is illegal, so is es, and
// the kept operations are a counterexample whatever the others did.
func weakened(es []entry, keep []int) []entry {
	certain := make([]bool, len(es))
	for _, i := range keep {
		certain[i] = true
	}
	var out []entry
	for i, e := range es {
		if !certain[i] {
			if e.kind == reads {
				continue // it saw nothing
			}
			e.unknown, e.ret = true, foreign.Never
		}
		out = append(out, e)
	}
	return out
}

// decide is the quickest answer there is.
func (m *Model) decide(es []entry, l limits) answer {
	r := m.reduce(es)
	if direct, _ := m.clusters(r); direct != unknown {
		return direct
	}
	searched, _ := m.ask(r, l)
	return searched
}

// smallest makes a counterexample small: first the shortest prefix, which ends
// with the return of last; then, of what happened in it, as few certain
// operations as can be found in time. es is illegal, which took so long to find
// out.
func (m *Model) smallest(es []entry, took time.Duration, l limits) (last *foreign.Operation, keep []int) {
	l.until = time.Now().Add(max(shrinkSteps*took, shrinkBudget))
	shows := func(keep []int) bool {
		return m.decide(weakened(es, keep), l.within(max(2*took, stepBudget))) == illegal
	}
	keep = shortestPrefix(es, shows)
	last = es[keep[len(keep)-1]].op
	if _, culprits := m.clusters(m.reduce(weakened(es, keep))); len(culprits) > 0 {
		keep = slices.DeleteFunc(keep, func(i int) bool { return !slices.Contains(culprits, es[i].op) })
	}
	// Reads first: each that goes takes observations away, and with them the
	// unknown writes that would make the next questions hard.
	for _, only := range []func(e *entry) bool{
		func(e *entry) bool { return e.kind == reads },
		func(*entry) bool { return true },
	} {
		keep = without(es, keep, only, shows, l)
	}
	return last, keep
}

// shortestPrefix: every prefix of a linearizable history is linearizable, so
// the shortest one that is not can be halved for. An operation that has not
// returned in the prefix is uncertain in it.
func shortestPrefix(es []entry, shows func([]int) bool) []int {
	var order []int
	for i, e := range es {
		if !e.unknown {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return int(min(max(es[a].ret-es[b].ret, -1), 1)) })
	low, high := 0, len(order) // the first high are known to be illegal
	for low < high-1 {
		if middle := (low + high) / 2; shows(order[:middle]) {
			high = middle
		} else {
			low = middle
		}
	}
	return slices.Clone(order[:high])
}

// without leaves out what is not needed of the operations that may go: halves,
// quarters, single ones (Zeller and Hildebrandt, "Simplifying and isolating
// failure-inducing input", 2002).
func without(es []entry, keep []int, may func(*entry) bool, shows func([]int) bool, l limits) []int {
	count := 0
	for _, i := range keep {
		if may(&es[i]) {
			count++
		}
	}
	for size := max(count/2, 1); ; size /= 2 {
		for from := 0; !l.over(); from += size {
			var rest []int
			n := 0
			for _, i := range keep {
				if may(&es[i]) {
					if n++; n > from && n <= from+size {
						continue
					}
				}
				rest = append(rest, i)
			}
			if from >= n {
				break
			}
			if len(rest) > 0 && shows(rest) {
				keep = rest
				from -= size // what follows has moved here
			}
		}
		if size <= 1 || l.over() {
			return keep
		}
	}
}
