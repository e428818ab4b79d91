package checkers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// Config is what a judgement needs to know besides the evidence.
type Config struct {
	Contract Contract
	// MinExposures is how often a promised property must have been at risk for
	// "holds" to count; 0 means DefaultMinExposures.
	MinExposures int
	// Budget is how long Porcupine may search in all; 0 means DefaultBudget.
	Budget time.Duration
}

// Defaults of Config.
const (
	DefaultMinExposures = 20
	DefaultBudget       = time.Minute
)

// Judgement is what a history comes to. Apart from Finding.CheckedMS, and as
// long as the budget is not exceeded, the same evidence always gives the same.
type Judgement struct {
	Status            Status
	Reasons           []string // why Status is not pass
	Findings          map[Property]Finding
	Operations        int     // of clients, without the observer's reads
	Updates           int     // acknowledged writes
	Refused           int     // writes and claims the store refused
	Unknown           int     // operations of clients with unknown outcome
	Pauses            int     //
	PausesLanded      int     //
	Throughput        float64 // acknowledged writes per second
	WaitP50           int64   // ns, from wanting the lock to having it
	WaitP99           int64   // ns
	FirstAnomaly      int64   // ns, from the first invocation; -1 if there is none
	HiddenFromClients int     // violations in the journal that no client can have seen
	Warnings          []string
}

// Judge judges a whole history. journal is nil if there is none, which leaves
// durability undecided. A history that does not validate, and evidence that
// contradicts itself, give status error. The error is that of ctx.
func Judge(ctx context.Context, h *history.History, journal []history.JournalEntry, cfg Config) (Judgement, error) {
	return judge(ctx, h, journal, cfg, allCheckers())
}

func judge(ctx context.Context, h *history.History, entries []history.JournalEntry, cfg Config, all []Checker) (Judgement, error) {
	if err := ctx.Err(); err != nil {
		return Judgement{}, fmt.Errorf("judge %s: %w", h.File, err)
	}
	cfg.MinExposures = cmp.Or(cfg.MinExposures, DefaultMinExposures)
	cfg.Budget = cmp.Or(cfg.Budget, DefaultBudget)
	if err := h.Validate(); err != nil {
		return invalid(h, cfg, err), nil
	}
	c := newCell(ctx, h, entries, cfg)
	j := Judgement{Findings: map[Property]Finding{}, FirstAnomaly: -1, Warnings: slices.Clone(h.Warnings)}
	var errors []string
	if c.journal != nil {
		errors = append(errors, c.journal.errors...)
	}
	for _, checker := range all {
		if err := ctx.Err(); err != nil {
			return Judgement{}, fmt.Errorf("judge %s: %w", h.File, err)
		}
		start := time.Now()
		o := checker.Check(c)
		errors = append(errors, o.errors...)
		c.excuse(checker.Property(), &o)
		f := c.finding(o, cfg.Contract.of(checker.Property()), cfg.MinExposures)
		f.CheckedMS = time.Since(start).Milliseconds()
		j.Findings[checker.Property()] = f
		j.HiddenFromClients += f.Hidden
		if f.Verdict == Violated {
			for _, k := range o.culprits {
				if at := k.at - c.begin(); j.FirstAnomaly < 0 || at < j.FirstAnomaly {
					j.FirstAnomaly = at
				}
			}
		}
	}
	errors = append(errors, c.implications()...)
	c.measure(&j)
	j.Status, j.Reasons = status(j.Findings, errors, c.lossAllowed)
	return j, nil
}

func invalid(h *history.History, cfg Config, err error) Judgement {
	j := Judgement{Status: Errored, Reasons: []string{err.Error()}, Findings: map[Property]Finding{}, FirstAnomaly: -1, Warnings: slices.Clone(h.Warnings)}
	for _, p := range Properties {
		j.Findings[p] = Finding{Verdict: Undecided, Contract: cfg.Contract.of(p), Reason: "the history is not valid", Examples: []Example{}}
	}
	return j
}

// maxExamples is how many violations of a property are told.
const maxExamples = 5

// finding counts what a checker found and says what it is worth.
func (c *cell) finding(o outcome, promise Promise, minExposures int) Finding {
	f := Finding{
		Verdict: o.verdict, Contract: promise, Reason: o.reason, DecidedBy: o.decidedBy,
		Hidden: o.hidden, Count: len(o.culprits), Examples: []Example{}, Counterexamples: o.counterexamples,
	}
	slices.SortStableFunc(o.culprits, func(a, b culprit) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.op, b.op))
	})
	exposed := o.exposures
	known := map[string]bool{} // the culprits, to: it is exposed by the rule
	for _, k := range o.culprits {
		known[k.op] = false
	}
	for _, x := range exposed {
		if _, culprit := known[x.op]; culprit {
			known[x.op] = true
		}
	}
	var hit []exposure
	for _, k := range o.culprits { // a violation is an exposure, whatever the rule says
		hit = append(hit, k.exposure)
		if !known[k.op] {
			exposed = append(exposed, k.exposure)
		}
		if len(f.Examples) < maxExamples {
			f.Examples = append(f.Examples, k.example)
		}
	}
	f.Exposures = len(exposed)
	f.Pauses, f.PausesHit = c.pausesOf(exposed), c.pausesOf(hit)
	if f.Verdict != Holds {
		return f
	}
	least := 1
	if promise == Promised {
		least = minExposures
	}
	if f.Exposures < least {
		f.Verdict, f.Reason = Vacuous, fmt.Sprintf("%d exposures, at least %d are needed", f.Exposures, least)
	}
	return f
}

// of is the promise about a property: Allowed if the contract is silent.
func (c Contract) of(p Property) Promise { return cmp.Or(c[p], Allowed) }

// implied: whatever fulfils the first property fulfils the second.
var implied = [][2]Property{{FenceOrder, StaleOverwrite}, {RMWAtomic, StaleOverwrite}, {StaleOverwrite, Register}}

// implications is a free test of every answer.
func (c *cell) implications() []string {
	var out []string
	for _, e := range c.resources {
		for _, pair := range implied {
			first, second := c.answers[e][pair[0]], c.answers[e][pair[1]]
			for i, judge := range []string{"the journal", "clients"} {
				if first[i] == legal && second[i] == illegal {
					out = append(out, fmt.Sprintf("by %s %s of %s holds and %s is violated, which cannot be", judge, pair[0], e.name, pair[1]))
				}
			}
		}
	}
	return out
}

// status is what the findings come to under the contract. A violation always
// wins; neither undecided nor vacuous is ever a pass.
func status(found map[Property]Finding, errors []string, lossAllowed bool) (Status, []string) {
	all := []Status{Pass}
	var reasons []string
	add := func(s Status, format string, args ...any) {
		all, reasons = append(all, s), append(reasons, fmt.Sprintf(format, args...))
	}
	for _, p := range Properties {
		f := found[p]
		switch {
		case f.Verdict == NotApplicable: // nothing to promise
		case f.Contract == Promised && f.Verdict == Violated:
			if (p == Register || p == Durability) && !lossAllowed {
				continue // the checker has reported it as an error of the harness
			}
			add(Failed, "%s is promised and was violated %d times: %s", p, f.Count, f.Examples[0].Text)
		case f.Contract == Promised && f.Verdict != Holds:
			add(Inconclusive, "%s is promised and is %s: %s", p, f.Verdict, f.Reason)
		case f.Contract == Predicted && f.Verdict != Violated:
			add(Inconclusive, "a violation of %s is predicted and was not found in %d exposures: the harness was blind", p, f.Exposures)
		}
	}
	for _, e := range errors {
		add(Errored, "%s", e)
	}
	return Combine(all...), reasons
}
