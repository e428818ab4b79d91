package report

import (
	"github.com/torture-harness/torture/checkers"
)

// kind is what a run says of a strategy's data.
type kind int

const (
	open        kind = iota // not decided
	letsThrough             // an old holder's write replaced newer data
	losesUpdate             // that was refused, but an update was lost all the same
	losesNone               // neither happened, and both could have
)

// safety is what a run says of one strategy, and what to do about it.
type safety struct {
	Strategy string
	Kind     kind
	Answer   string // is it safe for data: yes, no, not shown
	Advice   string // half a sentence
	Tone     tone
}

// safetyOf judges a strategy by all of its cells. One violation is enough to
// say that it is not safe. To say that it is, both properties must hold in
// every cell that stopped its clients: nothing else puts them at risk.
func safetyOf(r *run, strategy string) safety {
	s := safety{Strategy: strategy, Answer: "not shown", Tone: unsure}
	paused, refused, kept, sound := 0, 0, 0, true
	var stale, lost checkers.Finding // a violation of each, if there is one
	for _, c := range r.Cells {
		if c.Strategy != strategy {
			continue
		}
		overwrite, update := c.Properties[checkers.StaleOverwrite], c.Properties[checkers.RMWAtomic]
		if overwrite.Verdict == checkers.Violated && stale.Contract != checkers.Promised {
			stale = overwrite
		}
		if update.Verdict == checkers.Violated && lost.Contract != checkers.Promised {
			lost = update
		}
		for _, p := range []checkers.Property{checkers.Register, checkers.Durability} {
			sound = sound && c.Properties[p].Verdict != checkers.Violated
		}
		if !stopsClients(c.Fault) {
			continue
		}
		paused++
		// A violation that is predicted and missing shows a blind harness.
		if overwrite.Verdict == checkers.Holds && overwrite.Contract != checkers.Predicted {
			refused++
		}
		if update.Verdict == checkers.Holds {
			kept++
			sound = sound && update.Contract == checkers.Promised
		}
	}
	switch {
	case stale.Verdict == checkers.Violated:
		s.Kind, s.Answer, s.Tone = letsThrough, "no", bad
		s.Advice = "add a check in the store: a version or a fencing token"
		if stale.Contract == checkers.Promised {
			s.Advice = "it broke its promise, see what happened"
		}
	case paused == 0:
		s.Advice = "run it with a fault that stops its clients"
	case refused < paused:
		s.Advice = "too little was at risk, or it was not decided; run it again, longer and with nothing beside it"
	case lost.Verdict == checkers.Violated:
		s.Kind, s.Answer, s.Tone = losesUpdate, "no", warn
		s.Advice = "raise the fence when the holder reads, as etcd-claim does, or compare the version"
		if lost.Contract == checkers.Promised {
			s.Tone, s.Advice = bad, "it broke its promise, see what happened"
		}
	case kept < paused:
		s.Advice = "whether updates get lost was not decided; run it again, longer and with nothing beside it"
	case !sound:
		s.Advice = "nothing was lost here, but it does not promise that, or its store misbehaved"
	default:
		s.Kind, s.Answer, s.Tone = losesNone, "yes", good
		s.Advice = "the store itself refuses what is out of date"
	}
	return s
}

// stopsClients says whether a fault is one under which an old holder can come
// back late. One that was killed does not come back.
func stopsClients(fault string) bool {
	return fault != "none" && fault != "kill-worker" && fault != "pause-server"
}
