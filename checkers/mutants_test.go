package checkers

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// A mutant is a checker with one mistake in it. The labelled and the random
// histories are only worth something if they tell every one of these from the
// real thing.
type mutant struct {
	name     string
	property Property
	evidence func(e *evidence) // changes what the models are given
	legal    rule              // replaces the rule
}

var mutants = []mutant{
	{name: "unknown writes are dropped", property: Register, evidence: func(e *evidence) {
		for _, w := range e.writes {
			w.effective = w.op.Outcome == history.OK
		}
	}},
	{name: "unknown writes are dropped", property: RMWAtomic, evidence: func(e *evidence) {
		for _, w := range e.writes {
			w.effective = w.op.Outcome == history.OK
		}
	}},
	{name: "unseen unknown writes count", property: RMWAtomic, evidence: func(e *evidence) {
		for _, w := range e.writes {
			w.effective = w.mayHaveEffect()
		}
	}},
	{name: "unknown writes end at once", property: StaleOverwrite, evidence: func(e *evidence) {
		for _, w := range e.writes {
			if w.op.Outcome == history.Info {
				w.ret = w.op.Completed
			}
		}
	}},
	{name: "unknown writes end with their last read", property: Register, evidence: func(e *evidence) {
		for _, r := range e.reads {
			if w := e.byID[r.WriteID]; w != nil && w.op.Outcome == history.Info {
				w.ret = r.Call - 1
			}
		}
	}},
	{name: "refused writes count", property: StaleOverwrite, evidence: func(e *evidence) {
		for _, w := range e.writes {
			w.effective = w.effective || w.op.Outcome == history.Rejected
		}
	}},
	{name: "no reads", property: Register, evidence: func(e *evidence) { e.reads = nil }},
	{name: "no reads", property: StaleOverwrite, evidence: func(e *evidence) { e.reads = nil }},
	{name: "grants are ordered by their calls alone", property: FenceOrder, evidence: func(e *evidence) {
		for _, w := range e.writes {
			w.grant = &grant{call: w.grant.call, ret: w.grant.call}
		}
	}},
	{name: "grants are ordered by their returns alone", property: StaleOverwrite, evidence: func(e *evidence) {
		for _, w := range e.writes {
			w.grant = &grant{call: w.grant.ret, ret: w.grant.ret}
		}
	}},
	{name: "equal stamps are ordered", property: Register, evidence: func(e *evidence) {
		for _, w := range e.writes {
			if w.ret < history.Never {
				w.ret-- // [1,2] and [2,3] are concurrent, [1,1] and [2,3] are not
			}
		}
	}},
	{name: "touching grants are ordered", property: FenceOrder, legal: func(s state, w *step) bool { return w.grantRet > s.newest }},
	{name: "touching grants are ordered", property: StaleOverwrite, legal: func(s state, w *step) bool { return w.grantRet > s.newest || s.on(w) }},
	{name: "any lost update is a stale one", property: StaleOverwrite, legal: func(s state, w *step) bool { return s.on(w) }},
	{name: "any late write is a stale one", property: StaleOverwrite, legal: func(s state, w *step) bool { return !s.older(w) }},
	{name: "late and lost are mixed up", property: StaleOverwrite, legal: func(s state, w *step) bool { return !s.older(w) && s.on(w) }},
	{name: "41 before 42 is flagged", property: FenceOrder, legal: func(s state, w *step) bool { return !s.older(w) && s.on(w) }},
	{name: "nothing is late", property: FenceOrder, legal: func(state, *step) bool { return true }},
	{name: "nothing is stale", property: StaleOverwrite, legal: func(state, *step) bool { return true }},
	{name: "nothing is lost", property: RMWAtomic, legal: func(state, *step) bool { return true }},
}

func TestMutants(t *testing.T) {
	t.Logf("seed %d", bruteSeed)
	rng := rand.New(rand.NewPCG(bruteSeed, 3))
	var corpus []*history.History
	for len(corpus) < 1500 {
		if g := generate(rng); g.h.Validate() == nil {
			corpus = append(corpus, g.h)
		}
	}
	for _, x := range mutants {
		t.Run(string(x.property)+": "+x.name, func(t *testing.T) {
			m := modelOf(x.property)
			legal := m.legal
			if x.legal != nil {
				legal = x.legal
			}
			for _, hist := range corpus {
				e := gather(hist)[0]
				if x.evidence != nil {
					x.evidence(e)
				}
				found := search(porcupineModel(legal, m.newest, state{current: initial, newest: past}), operations(e), time.Minute)
				if found != answerOf(enumerate(hist, bruteRules[x.property])) {
					return // told from the real thing
				}
			}
			t.Error("no history tells it from the real thing")
		})
	}
}

// TestTokensInsteadOfGrants: a checker that compares tokens misses the store
// that does the same with a wrong token.
func TestTokensInsteadOfGrants(t *testing.T) {
	for _, s := range situations() {
		if s.name != "wrong-token" {
			continue
		}
		e := gather(s.history)[0]
		for _, w := range e.writes {
			w.grant = &grant{call: w.grant.token, ret: w.grant.token}
		}
		if a := decideFenceOrder(clusters(e)).answer; a != legal {
			t.Errorf("comparing tokens finds %v, so this history shows nothing", a)
		}
		return
	}
	t.Error("there is no such history")
}

// TestStampBeforeThePause: the biggest trap. A write stamped before the pause
// that it follows, and never read, looks as if it had been done in time. Only
// the journal, or a later read, tells.
func TestStampBeforeThePause(t *testing.T) {
	write := func(call int64) *history.History {
		return recorded(acquires("A", "gA", 0, 1), reads("A", 2, 3, "init"), acquires("B", "gB", 20, 21), reads("B", 22, 23, "init"),
			writes("B", "gB", "wB", "init", 24, 25), writes("A", "gA", "wA", "init", call, 41))
	}
	for _, c := range []struct {
		name    string
		h       *history.History
		journal []string
		want    Verdict
	}{
		{"stamped after the pause", write(40), nil, Violated},
		{"stamped before it", write(4), nil, Holds},
		{"stamped before it, with the journal", write(4), []string{"wB", "wA"}, Violated},
	} {
		var entries []history.JournalEntry
		if c.journal != nil {
			entries = accepted(c.h, c.journal...)
		}
		f := judged(t, c.h, entries, Config{}).Findings[StaleOverwrite]
		if f.Verdict == Vacuous {
			f.Verdict = Holds
		}
		if f.Verdict != c.want {
			t.Errorf("%s: %s, want %s", c.name, f.Verdict, c.want)
		}
	}
}

// TestFinalReads: without them an unknown write that took effect is invisible.
func TestFinalReads(t *testing.T) {
	for _, s := range situations() {
		if s.name != "unknown-seen" {
			continue
		}
		s.history.Operations = s.history.Operations[:len(s.history.Operations)-1]
		if f := judged(t, s.history, nil, Config{}).Findings[StaleOverwrite]; f.Verdict == Violated {
			t.Error("the final read was not needed, so this history shows nothing")
		}
		return
	}
	t.Error("there is no such history")
}

// TestUnknownRecordedAsFail: then a write that somebody saw has failed, and the
// history is not valid.
func TestUnknownRecordedAsFail(t *testing.T) {
	for _, s := range situations() {
		if s.name != "unknown-seen" {
			continue
		}
		for i := range s.history.Operations {
			if o := &s.history.Operations[i]; o.Outcome == history.Info {
				o.Outcome, o.Return = history.Fail, o.Completed
			}
		}
		if j := judged(t, s.history, nil, Config{}); j.Status != Errored {
			t.Errorf("status %s, want error", j.Status)
		}
		return
	}
	t.Error("there is no such history")
}
