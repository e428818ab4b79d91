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

// cast is the operations that a story is about; any may be nil.
type cast struct {
	culprit     *history.Operation // the write that overwrote, or that was refused
	overwritten *history.Operation // what it replaced
	guard       *history.Operation // what stood in its way
	late        *history.Operation // the old holder's write that slipped in: then the culprit did no wrong
}

// blamed is the write that is marked.
func (c cast) blamed() *history.Operation {
	if c.late != nil {
		return c.late
	}
	return c.culprit
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

// finish sorts the steps, sets the beginning and draws the picture.
func (st story) finish(s *scene, turns []*turn, c cast) story {
	slices.SortStableFunc(st.Steps, func(a, b step) int { return cmp.Compare(a.At, b.At) })
	st.start = st.Steps[0].At
	st.Picture = draw(s, st, turns, c)
	return st
}
