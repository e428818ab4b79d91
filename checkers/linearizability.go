package checkers

import (
	"fmt"
	"time"
)

// model is a property that is a question of linearizability. One rule serves
// three judges: the walk along the store's journal, Porcupine, and a search-free
// argument.
type model struct {
	property  Property
	legal     rule
	newest    bool // the rule looks at the age of grants
	decide    func(e *evidence, cs []*cluster) (answer, []violation)
	tell      func(v violation) culprit
	exposures func(c *cell, e *evidence) []exposure
}

var models = []*model{&registerModel, &staleOverwriteModel, &fenceOrderModel, &rmwAtomicModel}

func (m *model) Property() Property { return m.property }

// Check judges each resource by itself.
func (m *model) Check(c *cell) outcome {
	o := outcome{verdict: Holds, decidedBy: "porcupine"}
	for _, e := range c.resources {
		o.exposures = append(o.exposures, m.exposures(c, e)...)
	}
	if m.property != Register && c.registerViolated {
		o.verdict, o.reason, o.decidedBy = Undecided, "register", ""
		return o
	}
	for _, e := range c.resources {
		m.check(c, e, &o)
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

// check judges one resource. The journal decides first. What clients saw is
// weaker, so a violation in the journal alone is one that was hidden from them;
// one that clients saw and the journal does not have is impossible.
func (m *model) check(c *cell, e *evidence, o *outcome) {
	found, inJournal := m.along(c, e)
	clients, seen, by := m.byClients(c, e, o)
	c.answers[e][m.property] = [2]answer{inJournal, clients}
	switch {
	case inJournal == illegal:
		if clients == legal {
			o.hidden++
		}
		o.violated(m, found, "journal")
	case inJournal == legal && clients == illegal:
		o.errors = append(o.errors, fmt.Sprintf("%s of %s: clients saw a violation and the journal has none", m.property, e.name))
		o.undecided("the journal contradicts what clients saw of " + e.name)
	case clients == illegal:
		if len(seen) == 0 { // shown only by the search: one, without a name
			seen = []violation{{w: e.lastEffective()}}
		}
		o.violated(m, seen, by)
	case clients == unknown:
		o.undecided("budget exceeded at " + e.name)
	case o.verdict == Holds && by != "porcupine":
		o.decidedBy = by
	}
}

func (o *outcome) violated(m *model, found []violation, by string) {
	o.verdict, o.reason, o.decidedBy = Violated, "", by
	for _, v := range found {
		o.culprits = append(o.culprits, m.tell(v))
	}
}

func (o *outcome) undecided(reason string) {
	if o.verdict == Holds {
		o.verdict, o.reason = Undecided, reason
	}
}

// along walks the journal; unknown without one, or with one that has holes.
func (m *model) along(c *cell, e *evidence) ([]violation, answer) {
	if c.journal == nil || c.journal.unusable[e.name] {
		return nil, unknown
	}
	var found []violation
	if m.property == Register {
		found = journalledRegister(e, c.journal.walks[e.name])
	} else {
		found = walk(e, c.journal.walks[e.name], m)
	}
	return found, answerOf(len(found) == 0)
}

// byClients decides from what clients recorded, twice: by Porcupine and without
// a search. Two definite answers that differ are a fault of the harness.
func (m *model) byClients(c *cell, e *evidence, o *outcome) (a answer, seen []violation, by string) {
	direct, seen := m.decide(e, c.clusters(e))
	searched := c.budget.spend(func(share time.Duration) answer {
		return search(porcupineModel(m.legal, m.newest, state{current: initial, newest: past}), operations(e), share)
	})
	if direct != unknown && searched != unknown && direct != searched {
		o.errors = append(o.errors, fmt.Sprintf("%s of %s: Porcupine and the search-free check disagree", m.property, e.name))
		return unknown, nil, ""
	}
	if searched != unknown {
		return searched, seen, "porcupine"
	}
	return direct, seen, "search-free"
}

func (e *evidence) lastEffective() *write {
	var last *write
	for _, w := range e.writes {
		if w.effective {
			last = w
		}
	}
	return last
}

// overlapping grants have no order, so fence-order and stale-overwrite do not
// see them. A locker whose acquire covers its waiting makes all grants overlap
// and the two properties blind.
const (
	orderedShare    = 0.95
	orderedFrom     = 20 // handovers; fewer say nothing about the locker
	overlapsMessage = "grants overlap: only %d of %d successive grants under contention are ordered in time"
)

func (c *cell) grantsOverlap() string {
	pairs, ordered := 0, 0
	for _, e := range c.resources {
		for _, h := range c.contendedGrants(e) {
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
