package checkers

import (
	"fmt"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// JudgePiece judges a history that is a piece of another by the one property
// that it says something about. Violated is certain of the whole too; Holds is
// not. An error is a history that cannot be judged, or two checks that disagree.
func JudgePiece(h *history.History, budget time.Duration) (Finding, error) {
	f := Finding{Verdict: Undecided, Contract: Allowed, Examples: []Example{}}
	if h.Header.Piece == nil {
		return f, fmt.Errorf("%s: not a piece of a history: its header does not say so", h.File)
	}
	m := modelOf(Property(h.Header.Piece.Property))
	if m == nil {
		return f, &history.Damage{File: h.File, Line: 1, What: fmt.Sprintf("a piece that shows %q", h.Header.Piece.Property),
			Fix: "it was written by another version of torture, use that one"}
	}
	if err := h.Validate(); err != nil {
		return f, err
	}
	all := gather(h)
	if len(all) != 1 {
		return f, &history.Damage{File: h.File, Line: 1, What: fmt.Sprintf("a piece of %d resources", len(all)), Fix: "a piece is of one"}
	}
	e := all[0]
	direct := m.decide(clusters(e))
	searched := m.searchWhole(e, direct.order, budget)
	switch {
	case direct.answer == unknown && searched == unknown:
		f.Reason = "budget exceeded at " + e.name
	case direct.answer != unknown && searched != unknown && direct.answer != searched:
		return f, fmt.Errorf("%s: %s of %s: Porcupine and the search-free check disagree", h.File, m.property, e.name)
	case direct.answer == legal || searched == legal:
		f.Verdict = Holds
	default:
		f.Verdict, f.Count = Violated, max(len(direct.found), 1)
		because := clusters(e)
		if len(direct.found) > 0 {
			because = smallest(direct.found)
		}
		f.Counterexamples = []Counterexample{m.counterexample(h, e, because)}
	}
	f.DecidedBy = byPorcupine
	if searched == unknown {
		f.DecidedBy = bySearchFree
	}
	return f, nil
}
