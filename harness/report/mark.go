package report

import (
	"fmt"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/result"
)

// tone is how a mark is meant, apart from its words.
type tone string

const (
	good   tone = "good"   // it was at risk and held
	bad    tone = "bad"    // it did not hold
	warn   tone = "warn"   // a lesser harm, or one that the strategy never promised to prevent
	unsure tone = "unsure" // not decided, or too little at risk
	quiet  tone = "quiet"  // does not apply
)

// sign says the tone without colour.
var sign = map[tone]string{good: "✓", bad: "✗", warn: "!", unsure: "?", quiet: "–"}

// mark is one judgement in a few words, and how much it is worth.
type mark struct {
	Tone tone
	Text string
	Rate string
}

// Sign is the mark's tone without colour.
func (m mark) Sign() string { return sign[m.Tone] }

// marks is what one cell of the matrix shows.
type marks struct {
	Lock    mark   // lock layer: was the lock granted to two at once?
	Data    mark   // resource layer: did a stale write get through?
	Loss    mark   // was an update lost otherwise? Without a tone if there is nothing to say
	Others  []mark // what else went wrong, or had been expected to
	Promise mark   // is this what the strategy promised?
}

// all are the marks of the layers, from the lock upwards.
func (m marks) all() []mark {
	out := []mark{m.Lock, m.Data}
	if m.Loss.Tone != "" {
		out = append(out, m.Loss)
	}
	return append(out, m.Others...)
}

// Ground is the tone of the whole cell: that of its data.
func (m marks) Ground() tone {
	if m.Data.Tone == good && (m.Loss.Tone == warn || m.Loss.Tone == bad) {
		return m.Loss.Tone
	}
	return m.Data.Tone
}

// secondary are the properties that are shown only where they add something.
var secondary = []checkers.Property{checkers.FenceOrder, checkers.TokenOrder, checkers.Register, checkers.Durability, checkers.Progress}

func marksOf(c result.Cell) marks {
	m := marks{
		Lock:    lockMark(c),
		Data:    dataMark(c),
		Loss:    lossMark(c),
		Promise: promiseMark(c),
	}
	for _, p := range secondary {
		if o, ok := otherMark(c, p); ok {
			m.Others = append(m.Others, o)
		}
	}
	return m
}

func lockMark(c result.Cell) mark {
	f, ok := c.Properties[checkers.LeaseExclusion]
	if !ok {
		return mark{unsure, "lock not judged", ""}
	}
	switch f.Verdict {
	case checkers.NotApplicable:
		return mark{quiet, "no lock", ""}
	case checkers.Violated:
		return mark{bad, "granted to two at once ×" + count(f.Count), "in " + plural(f.Exposures, "handover")}
	case checkers.Holds:
		return mark{good, "one holder at a time", zeroOf(f, "handover")}
	}
	return openMark(f)
}

func dataMark(c result.Cell) mark {
	f, ok := c.Properties[checkers.StaleOverwrite]
	if !ok {
		return mark{unsure, "data not judged", ""}
	}
	switch f.Verdict {
	case checkers.NotApplicable:
		return mark{quiet, "does not apply", ""}
	case checkers.Violated:
		m := mark{Tone: bad, Text: "stale write ×" + count(f.Count)}
		if f.Pauses > 0 {
			m.Rate = "in " + byPause(f)
		} else {
			m.Rate = "in " + plural(f.Exposures, "exposure")
		}
		return m
	case checkers.Holds:
		return mark{good, "no stale write", zeroOf(f, exposure(c))}
	}
	return openMark(f)
}

// exposure is the word for what was risked: where nothing is disturbed every
// handover of the lock counts.
func exposure(c result.Cell) string {
	if c.Fault == "none" && c.Properties[checkers.LeaseExclusion].Verdict != checkers.NotApplicable {
		return "handover"
	}
	return "exposure"
}

// lossMark says whether an update was lost although no stale write got through:
// where one did, updates are lost with it.
func lossMark(c result.Cell) mark {
	f := c.Properties[checkers.RMWAtomic]
	stale := c.Properties[checkers.StaleOverwrite].Verdict == checkers.Violated
	if f.Verdict == checkers.Holds && f.Contract != checkers.Predicted && !stale {
		return mark{good, "no lost update", zeroOf(f, exposure(c))}
	}
	m, shown := otherMark(c, checkers.RMWAtomic)
	if shown && f.Verdict == checkers.Violated && f.Pauses > 0 {
		m.Rate = "in " + byPause(f)
	}
	return m
}

// zeroOf says how much a property that holds was risked. Its bound is by pause
// where there are pauses: the clients of one pause are not independent of each
// other.
func zeroOf(f checkers.Finding, word string) string {
	if f.Pauses > 0 {
		return fmt.Sprintf("0 in %s, %s (95 %% upper bound %s of pauses)",
			plural(f.Exposures, word), plural(f.Pauses, "pause"), percent(checkers.UpperBound(f.Pauses)))
	}
	return fmt.Sprintf("0 in %s (95 %% upper bound %s)", plural(f.Exposures, word), percent(checkers.UpperBound(f.Exposures)))
}

// byPause is the rate of a violated property, by pause: the clients of one
// pause are not independent of each other.
func byPause(f checkers.Finding) string {
	low, high := checkers.Interval(f.PausesHit, f.Pauses)
	return fmt.Sprintf("%s of %s: %s (95 %% interval %.0f–%s)",
		count(f.PausesHit), plural(f.Pauses, "pause"), percent(float64(f.PausesHit)/float64(f.Pauses)), low*100, percent(high))
}

func openMark(f checkers.Finding) mark {
	if f.Verdict == checkers.Vacuous {
		return mark{unsure, "too little risked to tell", "0 in " + plural(f.Exposures, "exposure")}
	}
	return mark{unsure, string(f.Verdict), explained(f.Reason)}
}

// otherMark speaks of a property only where it adds something to the two
// layers: a violation that these do not imply, or an open question about
// something promised or predicted.
func otherMark(c result.Cell, p checkers.Property) (mark, bool) {
	f, ok := c.Properties[p]
	if !ok || f.Contract == checkers.Allowed && f.Verdict != checkers.Violated {
		return mark{}, false
	}
	stale := c.Properties[checkers.StaleOverwrite].Verdict == checkers.Violated
	implied := stale && (p == checkers.FenceOrder || p == checkers.RMWAtomic)
	switch f.Verdict {
	case checkers.Violated:
		if implied && f.Contract != checkers.Promised {
			return mark{}, false
		}
		m := mark{warn, violation[p] + " ×" + count(f.Count), ""}
		if f.Contract == checkers.Promised {
			m.Tone = bad
		} else if f.Contract == checkers.Predicted {
			m.Text += ", as predicted"
		}
		return m, true
	case checkers.Holds:
		if f.Contract == checkers.Predicted {
			return mark{unsure, "no " + violation[p] + " seen", "0 in " + plural(f.Exposures, "exposure")}, true
		}
	case checkers.Undecided, checkers.Vacuous:
		data := c.Properties[checkers.StaleOverwrite]
		same := f.Verdict == data.Verdict && f.Reason == data.Reason
		if same && p == checkers.FenceOrder {
			return mark{}, false // it is the same question, asked more strictly
		}
		m := openMark(f)
		m.Text = string(p) + ": " + m.Text
		if same {
			m.Rate = ""
		}
		return m, true
	}
	return mark{}, false
}

// violation is what it is called when a property does not hold.
var violation = map[checkers.Property]string{
	checkers.LeaseExclusion: "lock granted to two at once",
	checkers.StaleOverwrite: "stale write",
	checkers.FenceOrder:     "write after a newer holder’s",
	checkers.RMWAtomic:      "lost update",
	checkers.TokenOrder:     "token out of order",
	checkers.Register:       "read of a wrong value",
	checkers.Durability:     "acknowledged write lost by the store",
	checkers.Progress:       "lock stuck or write refused without reason",
}

func promiseMark(c result.Cell) mark {
	switch c.Status {
	case checkers.Pass:
		if c.Properties[checkers.StaleOverwrite].Contract == checkers.Predicted {
			return mark{good, "as predicted", ""}
		}
		return mark{good, "as promised", ""}
	case checkers.Failed:
		return mark{bad, "promise broken", ""}
	case checkers.Inconclusive:
		if loaded(c) {
			return mark{unsure, "inconclusive: machine busy", ""}
		}
		return mark{unsure, "inconclusive", ""}
	}
	return mark{unsure, "harness error", ""}
}
