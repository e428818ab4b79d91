package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/torture-harness/torture/checkers"
)

// answer is the result in sentences.
type answer struct {
	Stale  []string // strategies that let a stale write through
	Held   []string // strategies that were at risk and did not
	Open   []string // strategies of which it is not known
	Lock   string   // what the locks did meanwhile
	Status string   // did it come out as the contracts say?
	Tone   tone     // of Status
}

// answerOf sums up a run. A strategy that let a stale write through under one
// fault is not held up by another under which it did not.
func answerOf(r *run) answer {
	var a answer
	locked, twice := 0, []string(nil)
	missed := map[checkers.Status]int{}
	for _, name := range r.strategies() {
		stale, held := false, false
		for _, c := range r.Cells {
			if c.Strategy != name {
				continue
			}
			f := c.Properties[checkers.StaleOverwrite]
			stale = stale || f.Verdict == checkers.Violated
			held = held || f.Verdict == checkers.Holds && (c.Fault != "none" || len(r.faults()) == 1)
			switch c.Properties[checkers.LeaseExclusion].Verdict {
			case checkers.Holds:
				locked++
			case checkers.Violated:
				locked++
				if !slices.Contains(twice, name) {
					twice = append(twice, name)
				}
			}
			if c.Status != checkers.Pass {
				missed[c.Status]++
			}
		}
		switch {
		case stale:
			a.Stale = append(a.Stale, name)
		case held:
			a.Held = append(a.Held, name)
		default:
			a.Open = append(a.Open, name)
		}
	}
	switch {
	case len(twice) > 0:
		a.Lock = "The lock itself was granted to two at once with " + list(twice) + "."
	case locked > 0 && len(a.Stale) > 0:
		a.Lock = "The locks did nothing wrong: none was ever granted to two holders at once."
	case locked > 0:
		a.Lock = "No lock was ever granted to two holders at once."
	}
	a.Tone, a.Status = good, "everything came out as promised or predicted"
	if r.Status != checkers.Pass || len(missed) > 0 {
		a.Tone, a.Status = unsure, "see what went wrong below"
		if r.Status == checkers.Failed {
			a.Tone = bad
		}
		var words []string
		for _, s := range []struct {
			status checkers.Status
			words  string
		}{{checkers.Failed, "%d broke a promise"}, {checkers.Errored, "%d ended in an error"}, {checkers.Inconclusive, "%d inconclusive"}} {
			if n := missed[s.status]; n > 0 {
				words = append(words, fmt.Sprintf(s.words, n))
			}
		}
		if len(words) > 0 {
			a.Status = fmt.Sprintf("of %s %s", plural(len(r.Cells), "cell"), list(words))
		}
	}
	return a
}

// Sentence is the answer without marks of any kind.
func (a answer) Sentence() string {
	var s []string
	if len(a.Stale) > 0 {
		s = append(s, "Old lock holders overwrote newer data with "+list(a.Stale)+".")
	}
	if len(a.Held) > 0 {
		s = append(s, "No stale write got through with "+list(a.Held)+".")
	}
	if len(a.Open) > 0 {
		s = append(s, "It is not decided for "+list(a.Open)+".")
	}
	return strings.Join(append(s, a.Lock), " ")
}

// strategies and faults are the rows and columns of the matrix, in the order
// of the result.
func (r *run) strategies() []string {
	return names(r, func(c *cell) string { return c.Strategy })
}

func (r *run) faults() []string { return names(r, func(c *cell) string { return c.Fault }) }

func names(r *run, of func(*cell) string) []string {
	var out []string
	for _, c := range r.Cells {
		if name := of(c); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// cell is the cell of one strategy and fault, nil if it was not run.
func (r *run) cell(strategy, fault string) *cell {
	for _, c := range r.Cells {
		if c.Strategy == strategy && c.Fault == fault {
			return c
		}
	}
	return nil
}
