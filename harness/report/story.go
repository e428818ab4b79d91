package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
)

// story is one thing that happened on one resource, told so that it needs no
// picture, with a picture so that it needs few words.
type story struct {
	Title    string
	Tone     tone
	Resource string
	Steps    []step
	Moral    string // what came of it
	Picture  *picture
	Property checkers.Property // that the story is an example of; "" for a refusal

	start int64 // ns, the moment that is 0.00 s
}

// step is one thing that somebody did: Actor Verb [at the time] Tail.
type step struct {
	At    int64 // ns
	Actor string
	Verb  string
	Tail  string
	By    int64 // ns, the latest moment at which it can have happened; 0 if At is exact
	Tone  tone  // bad for the culprit, good for a refusal
	Alone bool  // it is not told in one breath with what came before or after
}

// beat is what is told in one sentence: some steps of one actor that come
// close upon each other.
type beat []step

// Beats are the sentences of a story.
func (s story) Beats() []beat {
	const breath = 200e6 // ns
	var beats []beat
	for i, t := range s.Steps {
		if i > 0 {
			last := s.Steps[i-1]
			if last.Actor == t.Actor && t.At-last.At < breath && !last.Alone && !t.Alone {
				beats[len(beats)-1] = append(beats[len(beats)-1], t)
				continue
			}
		}
		beats = append(beats, beat{t})
	}
	return beats
}

// Actor did it.
func (b beat) Actor() string { return b[0].Actor }

// Tone is that of the beat's only step, if it has one.
func (b beat) Tone() tone { return b[0].Tone }

// When is the time of a beat since the story began.
func (s story) When(b beat) string { return seconds(b[0].At - s.start) }

// Predicate is the sentence without its actor and without its first time.
func (s story) Predicate(b beat) string { return s.predicate(b, s.When(b)) }

// predicate tells the steps; known is a time that need not be said.
func (s story) predicate(b beat, known string) string {
	var parts []string
	for _, t := range b {
		text := t.Verb
		if at := seconds(t.At - s.start); at != known {
			text, known = text+" at "+at, at
		}
		if t.By > 0 {
			text += "; it had been removed by " + seconds(t.By-s.start)
		}
		parts = append(parts, text+t.Tail)
	}
	return list(parts)
}

// seconds is a time in a story, "2.20 s".
func seconds(ns int64) string {
	text := fmt.Sprintf("%.2f s", float64(ns)/1e9)
	if text == "-0.00 s" {
		return "0.00 s"
	}
	return text
}

// Sentences is the story as running text.
func (s story) Sentences() string {
	var sentences []string
	actor := ""
	for _, b := range s.Beats() {
		subject := b.Actor()
		if subject == actor {
			subject = "It"
		}
		actor = b.Actor()
		sentences = append(sentences, subject+" "+s.predicate(b, "")+".")
	}
	return strings.Join(append(sentences, s.Moral), " ")
}

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
		if t, u := s.of(first), s.of(culprit); t != nil && u != nil && t.older(u) {
			st.Title = "A late write slipped in before the new holder’s and was lost"
		}
	}
	turns := distinct(s.of(culprit), s.of(first), s.of(last))
	st.Steps = s.steps(turns, culprit)
	s.explainLate(st.Steps, first, culprit)
	if n := len(lost); n > 2 {
		at, _ := s.accepted(lost[n-2])
		st.Steps = append(st.Steps, step{At: at, Actor: "PostgreSQL", Verb: "had accepted " + plural(n-2, "more write")})
	}
	st.Moral = lostMoral(s, culprit, lost, c, p)
	return st.finish(s, turns, culprit, last, nil), true
}

// explainLate says of a late write that was accepted rightly why it was.
func (s *scene) explainLate(steps []step, late, culprit *history.Operation) {
	t, u := s.of(late), s.of(culprit)
	if t == nil || u == nil || !t.older(u) || t.token() == 0 {
		return
	}
	for i := range steps {
		if steps[i].At == s.when(late) && steps[i].Actor == late.Worker {
			steps[i].Alone, steps[i].Tail = true, fmt.Sprintf(". PostgreSQL accepted it, for %d had not written yet", u.token())
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
// refused: what protected the data.
func refusalStory(c *cell) (story, bool) {
	for _, late := range c.refusals() {
		s := c.scene(late.Resource)
		op := s.byID[late.ID]
		mine := s.of(op)
		if mine == nil || len(s.pauses(mine)) == 0 {
			continue
		}
		guard := s.protector(op, mine)
		theirs := s.of(guard)
		if theirs == nil {
			continue
		}
		st := story{Tone: good, Resource: op.Resource, Title: "The store refused the old holder’s write"}
		turns := distinct(mine, theirs)
		st.Steps = s.steps(turns, op)
		st.Moral = refusalMoral(s, op, guard, mine, theirs)
		return st.finish(s, turns, op, nil, guard), true
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
	return st.finish(s, distinct(turns...), s.byID[e.Culprit], nil, nil), true
}

// steps tells what each of the turns did, and what was done to it.
func (s *scene) steps(turns []*turn, culprit *history.Operation) []step {
	var steps []step
	for _, t := range turns {
		for _, op := range t.Ops {
			if op.Kind != history.Release && op.Kind != history.Check && op.Kind != history.Renew {
				steps = append(steps, s.step(op, op == culprit))
			}
		}
		for _, p := range s.pauses(t) {
			steps = append(steps, step{At: p.From, Actor: p.Worker, Verb: "was stopped", Alone: true})
			if p.To != history.Never {
				steps = append(steps, step{At: p.To, Actor: p.Worker, Verb: "went on", Alone: true})
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
		st.Verb = fmt.Sprintf("raised the fence to %d and read %s", op.Token, s.name(op.WriteID))
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

// finish sorts the steps, sets the beginning and draws the picture.
func (st story) finish(s *scene, turns []*turn, culprit, overwritten, guard *history.Operation) story {
	slices.SortStableFunc(st.Steps, func(a, b step) int { return cmp.Compare(a.At, b.At) })
	st.start = st.Steps[0].At
	st.Picture = draw(s, st, turns, culprit, overwritten, guard)
	return st
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

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
