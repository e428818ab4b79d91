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
	Lossy  []string // that refused every stale write and lost an update all the same
	Safe   []string // that were at risk and lost nothing
	Open   []string // of which it is not known
	Lock   string   // what the locks did meanwhile
	Status string   // did it come out as the contracts say?
	Tone   tone     // of Status
}

// answerOf sums up a run.
func answerOf(r *run) answer {
	var a answer
	for _, name := range r.strategies() {
		group := map[kind]*[]string{letsThrough: &a.Stale, losesUpdate: &a.Lossy, losesNone: &a.Safe, open: &a.Open}[safetyOf(r, name).Kind]
		*group = append(*group, name)
	}
	a.Lock = lockSentence(r, len(a.Stale) > 0)
	a.Tone, a.Status = statusOf(r)
	return a
}

func lockSentence(r *run, stale bool) string {
	locked, twice := 0, []string(nil)
	for _, c := range r.inOrder() {
		switch c.Properties[checkers.LeaseExclusion].Verdict {
		case checkers.Holds:
			locked++
		case checkers.Violated:
			if !slices.Contains(twice, c.Strategy) {
				twice = append(twice, c.Strategy)
			}
		}
	}
	switch {
	case len(twice) > 0:
		return "The lock itself was granted to two at once with " + list(twice) + "."
	case locked > 0 && stale:
		return "The locks did nothing wrong: none was ever granted to two holders at once."
	case locked > 0:
		return "No lock was ever granted to two holders at once."
	}
	return ""
}

// statusOf says how far the run came out as the contracts say. A cell that is
// inconclusive by the load of the machine alone has found out what it was for,
// and that is said.
func statusOf(r *run) (tone, string) {
	missed, busy := map[checkers.Status]int{}, 0
	for _, c := range r.Cells {
		if c.Status != checkers.Pass {
			missed[c.Status]++
		}
		if loaded(c.Cell) {
			busy++
		}
	}
	if r.Status == checkers.Pass && len(missed) == 0 {
		return good, "everything came out as promised or predicted"
	}
	t := unsure
	if r.Status == checkers.Failed {
		t = bad
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
	if len(words) == 0 {
		return t, "see what went wrong below"
	}
	text := fmt.Sprintf("of %s %s", plural(len(r.Cells), "cell"), list(words))
	switch {
	case busy > 0 && busy == missed[checkers.Inconclusive]:
		text += ", only because the machine was busy: what was found stands, the timings do not"
	case busy > 0:
		text += fmt.Sprintf(", %d only because the machine was busy: what was found there stands, the timings do not", busy)
	}
	return t, text
}

// Sentence is the answer without marks of any kind.
func (a answer) Sentence() string {
	var s []string
	for _, group := range []struct {
		names []string
		words string
	}{
		{a.Stale, "Old lock holders overwrote newer data with %s."},
		{a.Lossy, "%s refused every stale write but can still lose an update."},
		{a.Safe, "%s lost nothing."},
		{a.Open, "Not decided: %s."},
	} {
		if len(group.names) > 0 {
			s = append(s, fmt.Sprintf(group.words, list(group.names)))
		}
	}
	return strings.Join(append(s, a.Lock), " ")
}
