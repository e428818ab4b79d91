package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
)

// tell makes the stories of a cell: of its first anomaly, of the first stale
// write that the store refused, and of an update lost for another reason.
func tell(c *cell) []story {
	var stories []story
	add := func(s story, ok bool) {
		if ok {
			stories = append(stories, s)
		}
	}
	stale := c.example(checkers.StaleOverwrite, checkers.FenceOrder)
	if stale != nil {
		add(overwriteStory(c, *stale, checkers.StaleOverwrite))
	} else {
		add(refusalStory(c))
		if lost := c.example(checkers.RMWAtomic); lost != nil {
			add(overwriteStory(c, *lost, checkers.RMWAtomic))
		}
	}
	for _, p := range []checkers.Property{checkers.LeaseExclusion, checkers.TokenOrder, checkers.Register, checkers.Durability, checkers.Progress} {
		if e := c.example(p); e != nil {
			add(plainStory(c, *e, p))
		}
	}
	return stories
}

// example is the first violation of the first of these properties that has one.
func (c *cell) example(properties ...checkers.Property) *checkers.Example {
	for _, p := range properties {
		if f := c.Properties[p]; f.Verdict == checkers.Violated && len(f.Examples) > 0 {
			first := slices.MinFunc(f.Examples, func(a, b checkers.Example) int { return cmp.Compare(a.At, b.At) })
			return &first
		}
	}
	return nil
}

// overwriteStory tells of a write that was computed from an older document
// than the one it replaced.
func overwriteStory(c *cell, e checkers.Example, p checkers.Property) (story, bool) {
	s := c.scene(e.Resource)
	culprit := s.write(e.Culprit)
	if culprit == nil {
		return plainStory(c, e, p)
	}
	after, known := s.version[culprit.Basis]
	at, accepted := s.version[culprit.WriteID]
	if !known || !accepted || at-after < 2 {
		return plainStory(c, e, p)
	}
	lost := s.Journal[after : at-1] // what the culprit replaced without having seen it
	first, last := s.write(lost[0].WriteID), s.write(lost[len(lost)-1].WriteID)
	if first == nil || last == nil {
		return plainStory(c, e, p)
	}

	st := story{Tone: bad, Resource: e.Resource, Property: p, Title: "An old holder overwrote newer data"}
	if p == checkers.RMWAtomic {
		st.Tone, st.Title = warn, "An update was lost, and no holder was late"
	}
	roles := cast{culprit: culprit, overwritten: last}
	if t, u := s.of(first), s.of(culprit); p == checkers.RMWAtomic && t != nil && u != nil && t.older(u) {
		roles.late, roles.overwritten = first, first
		st.Title = "A late write slipped in before the new holder’s and was lost"
	}
	turns := distinct(s.of(culprit), s.of(first), s.of(last))
	st.Steps = s.steps(turns, culprit)
	if roles.late != nil {
		s.explainLate(st.Steps, first, culprit)
	}
	if n := len(lost); n > 2 {
		at, _ := s.accepted(lost[n-2])
		st.Steps = append(st.Steps, step{At: at, Actor: "PostgreSQL", Verb: "had accepted " + plural(n-2, "more write")})
	}
	st.Moral = lostMoral(s, culprit, lost, c, p)
	return st.finish(s, turns, roles), true
}

// explainLate says of a late write why it was accepted. It is the one to mark:
// the rightful holder, who overwrote it, could not know of it.
func (s *scene) explainLate(steps []step, late, culprit *history.Operation) {
	for i := range steps {
		st := &steps[i]
		switch {
		case st.At == s.when(late) && st.Actor == late.Worker:
			st.Alone, st.Tone = true, bad
			st.Tail = ", late. PostgreSQL accepted it"
			if token := s.of(culprit).token(); token > 0 {
				st.Tail += fmt.Sprintf(", for %d had not written yet", token)
			}
		case st.At == s.when(culprit) && st.Actor == culprit.Worker:
			st.Alone, st.Tone = true, ""
			st.Tail = fmt.Sprintf(", computed from %s: it overwrote %s without having seen it", s.name(culprit.Basis), s.name(late.WriteID))
		}
	}
}

func lostMoral(s *scene, culprit *history.Operation, lost []history.JournalEntry, c *cell, p checkers.Property) string {
	var who []string
	for _, e := range lost {
		if op := s.write(e.WriteID); op != nil && !slices.Contains(who, op.Worker+"’s") {
			who = append(who, op.Worker+"’s")
		}
	}
	moral := fmt.Sprintf("%s change (%s) is lost.", list(who), s.name(lost[0].WriteID))
	if n := len(lost); n > 1 {
		between := " to "
		if n == 2 {
			between = " and "
		}
		moral = fmt.Sprintf("%s changes (%s) are lost.", list(who), s.name(lost[0].WriteID)+between+s.name(lost[n-1].WriteID))
	}
	first := s.of(s.write(lost[0].WriteID))
	if u := s.of(culprit); p == checkers.RMWAtomic && first != nil && u != nil && first.older(u) && first.token() > 0 {
		return moral + fmt.Sprintf(" The tokens came in order, %d and then %d, so there was nothing for the fence to refuse: %s had read before %s’s late write arrived.",
			first.token(), u.token(), u.Worker, first.Worker)
	}
	if c.Properties[checkers.LeaseExclusion].Verdict == checkers.Holds {
		moral += " The lock did its part: it was never granted to two at once."
	}
	return moral
}

// refusalStory tells of the first write of an old holder that the store
// refused: what protected the data. One whose holder was overtaken while it was
// stopped is told first.
func refusalStory(c *cell) (story, bool) {
	for _, overtaken := range []bool{true, false} {
		for _, late := range c.refusals() {
			s := c.scene(late.Resource)
			op := s.byID[late.ID]
			mine := s.of(op)
			guard := s.protector(op, mine)
			theirs := s.of(guard)
			stopped := slices.ContainsFunc(s.pauses(mine), func(p history.Pause) bool {
				return theirs != nil && (!overtaken || p.From <= theirs.Begin && s.when(guard) <= p.To)
			})
			if !stopped {
				continue
			}
			st := story{Tone: good, Resource: op.Resource, Title: "The store refused the old holder’s write"}
			if mine.Acquire == nil {
				st.Title = "The store refused a write computed from old data"
			}
			turns := distinct(mine, theirs)
			st.Steps = s.steps(turns, op)
			st.Moral = refusalMoral(s, op, guard, mine, theirs)
			return st.finish(s, turns, cast{culprit: op, guard: guard}), true
		}
	}
	return story{}, false
}

// refusals are the writes that the store refused, by call.
func (c *cell) refusals() []history.Operation {
	var found []history.Operation
	for _, op := range c.History.Operations {
		if op.Kind == history.Write && op.Outcome == history.Rejected {
			found = append(found, op)
		}
	}
	return found
}

// protector is the last write or claim of a newer turn that had been accepted
// when the store refused op.
func (s *scene) protector(op *history.Operation, mine *turn) *history.Operation {
	var found *history.Operation
	for i := range s.Ops {
		other := &s.Ops[i]
		raises := other.Kind == history.Claim || other.Kind == history.Write
		theirs := s.of(other)
		if raises && other.Outcome == history.OK && other.Call < op.Return && theirs != nil && theirs != mine && mine.older(theirs) {
			if found == nil || s.Header.Guard == "claim" && found.Kind != history.Claim {
				found = other
			}
		}
	}
	return found
}

func refusalMoral(s *scene, op, guard *history.Operation, mine, theirs *turn) string {
	reason := fmt.Sprintf("the row had already been changed by %s", theirs.Worker)
	switch {
	case s.Header.Guard == "version":
		reason = fmt.Sprintf("the row was no longer the one that %s had read", mine.Worker)
	case guard.Kind == history.Claim:
		reason = fmt.Sprintf("%s’s claim had already raised the row’s fence to %d, and %s came with %d", theirs.Worker, theirs.token(), mine.Worker, mine.token())
	case theirs.token() > 0:
		reason = fmt.Sprintf("the row had already accepted token %d, and %d is lower", theirs.token(), mine.token())
	}
	return "Nothing is lost: " + reason + "."
}

// plainStory tells an anomaly of any kind: its operations, in their order.
func plainStory(c *cell, e checkers.Example, p checkers.Property) (story, bool) {
	s := c.scene(e.Resource)
	st := story{Tone: bad, Resource: e.Resource, Property: p, Title: capital(violation[p]), Moral: e.Text}
	if c.Properties[p].Contract != checkers.Promised {
		st.Tone = warn
	}
	var turns []*turn
	for _, id := range e.Ops {
		op := s.byID[id]
		if op == nil {
			continue
		}
		turns = append(turns, s.of(op))
		st.Steps = append(st.Steps, s.step(op, id == e.Culprit))
	}
	if len(st.Steps) == 0 {
		// Nothing of it is in the history: the sentence must do.
		return st, e.Text != ""
	}
	return st.finish(s, distinct(turns...), cast{culprit: s.byID[e.Culprit]}), true
}

func distinct(turns ...*turn) []*turn {
	var out []*turn
	for _, t := range turns {
		if t != nil && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b *turn) int { return cmp.Compare(a.Begin, b.Begin) })
	return out
}
