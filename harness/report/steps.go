package report

import (
	"fmt"

	"github.com/torture-harness/torture/harness/history"
)

// steps tells what each of the turns did, and what was done to it.
func (s *scene) steps(turns []*turn, culprit *history.Operation) []step {
	var steps []step
	for _, t := range turns {
		for _, op := range t.told() {
			steps = append(steps, s.step(op, op == culprit))
		}
		for _, p := range s.pauses(t) {
			who, stopped, resumed := p.Worker, "was stopped", "went on"
			if p.Delay {
				who, stopped, resumed = p.Worker+"’s write", "was held in the network", "was let go"
			}
			steps = append(steps, step{At: p.From, Actor: who, Verb: stopped, Alone: true})
			if p.To != history.Never {
				steps = append(steps, step{At: p.To, Actor: who, Verb: resumed, Alone: true})
			}
		}
		if _, to, ok := t.lease(); ok && to < t.End {
			end := step{At: to, Actor: t.Worker + "’s lease", Verb: "ended"}
			if gone := s.gone(t); gone > to {
				end.Verb, end.By = "ran out", gone
			}
			steps = append(steps, end)
		}
	}
	return steps
}

// told are the operations of a turn that its story is made of. What a client
// reads once its write has been answered is none of it: it only asks why.
func (t *turn) told() []*history.Operation {
	var out []*history.Operation
	written := false
	for _, op := range t.Ops {
		switch op.Kind {
		case history.Write:
			written = true
		case history.Read, history.Claim:
			if written {
				continue
			}
		case history.Acquire:
		default:
			continue
		}
		out = append(out, op)
	}
	return out
}

// step is the sentence for one operation.
func (s *scene) step(op *history.Operation, culprit bool) step {
	st := step{At: s.when(op), Actor: op.Worker}
	switch op.Kind {
	case history.Acquire:
		st.Verb = "got the lock"
		if op.Token > 0 {
			st.Tail = fmt.Sprintf(" (token %d)", op.Token)
		}
		if op.Outcome != history.OK {
			st.Verb = "asked for the lock: " + string(op.Outcome)
		}
	case history.Read:
		st.Verb = "read " + s.name(op.WriteID)
	case history.Claim:
		st.Verb, st.Tail = "read "+s.name(op.WriteID), fmt.Sprintf(", raising the fence to %d", op.Token)
		if op.Outcome != history.OK {
			st.Verb = fmt.Sprintf("tried to raise the fence to %d: %s", op.Token, op.Outcome)
		}
	case history.Write:
		from := ", computed from " + s.name(op.Basis)
		_, accepted := s.version[op.WriteID]
		switch {
		case accepted && culprit:
			st.Verb, st.Tone, st.Tail, st.Alone = "wrote "+s.name(op.WriteID), bad, from+". PostgreSQL accepted it", true
		case accepted:
			st.Verb = "wrote " + s.name(op.WriteID)
		case op.Outcome == history.Rejected:
			st.Verb, st.Tone, st.Tail, st.Alone = "tried to write", good, from+". PostgreSQL refused it", true
		default:
			st.Verb = fmt.Sprintf("sent a write (%s)", op.Outcome)
			st.Tail = from
		}
	case history.Release:
		st.Verb = "gave the lock back"
	default:
		st.Verb = fmt.Sprintf("asked to %s: %s", op.Kind, op.Outcome)
	}
	return st
}

// when is the moment at which an operation is told: for an accepted write the
// one at which the store accepted it.
func (s *scene) when(op *history.Operation) int64 {
	if v, ok := s.version[op.WriteID]; ok && op.Kind == history.Write && v > 0 {
		if at, ok := s.accepted(s.Journal[v-1]); ok {
			return at
		}
	}
	return ended(op)
}

// name is the short name of a write: v7 is the seventh that the store accepted
// for this resource.
func (s *scene) name(write string) string {
	if v, ok := s.version[write]; ok {
		return fmt.Sprintf("v%d", v)
	}
	return "an unknown version"
}
