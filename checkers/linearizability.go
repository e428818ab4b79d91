package checkers

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// model is a property that is a question of linearizability. One rule serves
// three judges: the walk along the store's journal, Porcupine, and a search-free
// argument.
type model struct {
	property  Property
	legal     rule
	newest    bool // the rule looks at the age of grants
	decide    func(cs []*cluster) decision
	tell      func(v violation) culprit
	exposures func(c *cell, e *evidence) []exposure
}

var models = []*model{&registerModel, &staleOverwriteModel, &fenceOrderModel, &rmwAtomicModel}

func (m *model) Property() Property { return m.property }

// Check judges each resource by itself.
func (m *model) Check(c *cell) outcome {
	o := outcome{verdict: Holds, decidedBy: byPorcupine}
	for _, e := range c.resources {
		o.exposures = append(o.exposures, m.exposures(c, e)...)
	}
	if m.property != Register && c.registerViolated {
		o.verdict, o.reason, o.decidedBy = Undecided, "register", ""
		return o
	}
	for i, clients := range c.each(m.byClients) {
		m.settle(c, c.resources[i], &o, m.along(c, c.resources[i]), clients)
	}
	if m.property == Register && o.verdict == Violated {
		c.registerViolated = true
		if !c.lossAllowed {
			o.errors = append(o.errors, "register is violated although no store may lose data here: "+o.culprits[0].example.Text)
		}
	}
	if o.verdict == Holds && m.newest && c.locked {
		if reason := c.grantsOverlap(); reason != "" {
			o.verdict, o.reason = Undecided, reason
		}
	}
	return o
}

// reading is what one kind of evidence says about one resource.
type reading struct {
	answer answer
	found  []violation // at least one if illegal
	by     string
	why    string // it is unknown: the search was given up
	err    string // two ways of deciding disagree
}

// settle judges one resource. The journal decides first. What clients saw is
// weaker, so a violation in the journal alone is one that was hidden from them;
// one that clients saw and the journal does not have is impossible.
func (m *model) settle(c *cell, e *evidence, o *outcome, journal, clients reading) {
	c.answers[e][m.property] = [2]answer{journal.answer, clients.answer}
	if clients.err != "" {
		o.errors = append(o.errors, clients.err)
	}
	if clients.answer == illegal && journal.answer != legal && len(o.counterexamples) < maxCounterexamples {
		o.counterexamples = append(o.counterexamples, m.counterexample(c.h, e, smallest(clients.found)))
	}
	switch {
	case journal.answer == illegal:
		if clients.answer == legal {
			o.hidden++
		}
		o.violated(m, journal)
	case journal.answer == legal && clients.answer == illegal:
		o.errors = append(o.errors, fmt.Sprintf("%s of %s: clients saw a violation and the journal has none", m.property, e.name))
		o.undecided("the journal contradicts what clients saw of " + e.name)
	case clients.answer == illegal:
		o.violated(m, clients)
	case clients.answer == unknown && clients.by == "":
		o.undecided("two checks disagree about " + e.name)
	case clients.answer == unknown:
		o.undecided(clients.why + " at " + e.name)
	case o.verdict == Holds && clients.by != byPorcupine:
		o.decidedBy = clients.by
	}
}

func smallest(found []violation) []*cluster {
	return slices.MinFunc(found, func(a, b violation) int { return cmp.Compare(len(a.because), len(b.because)) }).because
}

// What Finding.DecidedBy says of a model; the other checkers name their rule.
const (
	byPorcupine  = "porcupine"
	bySearchFree = "search-free"
	byJournal    = "journal"
)

func (o *outcome) violated(m *model, r reading) {
	if o.verdict != Violated || r.by == byJournal {
		o.decidedBy = r.by
	}
	o.verdict, o.reason = Violated, ""
	for _, v := range r.found {
		o.culprits = append(o.culprits, m.tell(v))
	}
}

func (o *outcome) undecided(reason string) {
	if o.verdict == Holds {
		o.verdict, o.reason = Undecided, reason
	}
}

// along walks the journal; unknown without one, or with one that has holes.
func (m *model) along(c *cell, e *evidence) reading {
	if c.journal == nil || c.journal.unusable[e.name] {
		return reading{by: byJournal}
	}
	var found []violation
	if m.property == Register {
		found = journalledRegister(e, c.journal.walks[e.name])
	} else {
		found = walk(e, c.journal.walks[e.name], m)
	}
	return reading{answer: answerOf(len(found) == 0), found: found, by: byJournal}
}

// byClients decides from what clients recorded, twice: without a search, and by
// Porcupine. What is illegal without a search has counterexamples, and Porcupine
// judges these, for it takes for ever over an illegal whole. Two definite answers
// that differ are a fault of the harness.
func (m *model) byClients(c *cell, e *evidence) reading {
	direct := m.decide(c.clusters(e))
	searched := c.budget.spend(func(share time.Duration) answer {
		if direct.answer == illegal {
			return m.searchParts(c.h, e, direct.found, share)
		}
		return m.searchWhole(e, direct.order, share)
	})
	switch {
	case direct.answer != unknown && searched != unknown && direct.answer != searched:
		return reading{err: fmt.Sprintf("%s of %s: Porcupine and the search-free check disagree", m.property, e.name)}
	case direct.answer == unknown && searched == illegal:
		direct.found = []violation{m.foundBySearch(c, e)}
	case searched == unknown:
		return reading{answer: direct.answer, found: direct.found, by: bySearchFree, why: e.gaveUp}
	}
	return reading{answer: searched, found: direct.found, by: byPorcupine}
}

// searchParts asks Porcupine about the counterexample of each violation: illegal
// if all are, legal if one is legal, so that it shows nothing.
func (m *model) searchParts(h *history.History, e *evidence, found []violation, budget time.Duration) answer {
	deadline := time.Now().Add(budget)
	for _, v := range found {
		if a := m.judgePiece(piece(h, e, m.property, v.because), time.Until(deadline)); a != illegal {
			return a
		}
	}
	return illegal
}

// foundBySearch is a violation in a resource that only Porcupine found illegal.
func (m *model) foundBySearch(c *cell, e *evidence) violation {
	because := c.clusters(e)
	c.budget.spend(func(share time.Duration) answer {
		because = m.shrink(c.h, e, because, share)
		return illegal
	})
	v := violation{w: because[len(because)-1].w, because: because}
	for _, x := range because { // a late write, if there is one
		if n := newestAmong(because, x); m.newest && n != nil {
			v.w, v.newest = x.w, n.w
		}
	}
	return v
}

// overlapping grants have no order, so fence-order and stale-overwrite do not
// see them. A locker whose acquire covers its waiting makes all grants overlap
// and the two properties blind. An acquire during which its own worker was
// stopped says nothing about the locker: it had to be late.
const (
	orderedShare    = 0.95
	orderedFrom     = 20 // handovers; fewer say nothing about the locker
	overlapsMessage = "grants overlap: only %d of %d successive grants under contention are ordered in time"
)

func (c *cell) grantsOverlap() string {
	pairs, ordered := 0, 0
	for _, e := range c.resources {
		for _, h := range c.contendedGrants(e) {
			if c.stoppedDuring(h.from) || c.stoppedDuring(h.to) {
				continue
			}
			pairs++
			if h.from.olderThan(h.to) {
				ordered++
			}
		}
	}
	if pairs >= orderedFrom && float64(ordered) < orderedShare*float64(pairs) {
		return fmt.Sprintf(overlapsMessage, ordered, pairs)
	}
	return ""
}

// stoppedDuring: the worker of a grant was stopped while it was acquiring.
func (c *cell) stoppedDuring(g *grant) bool {
	return anyOf(c.stops.over(g.ret, g.call), func(p history.Pause) bool { return p.Worker == g.worker && !p.Delay })
}
