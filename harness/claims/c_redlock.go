package claims

import (
	"fmt"
	"strings"
	"time"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

// drift is what Redlock subtracts for the clocks.
func (s *Stage) drift() time.Duration { return s.TTL/100 + 2*time.Millisecond }

// validity is what is left of the lease when the actor's acquire returned, by
// the algorithm.
func (s *Stage) validity(a *Actor) time.Duration {
	return time.Duration(a.LeaseEnd()-a.Last(history.Acquire).Return) - s.drift()
}

// c19 is C9 with the story of the key on each server.
func c19(s *Stage) {
	var events []*KeyEvents
	for i := range s.strategy.Locker.Needs.Redis {
		events = append(events, s.KeyEvents(i, "r"))
	}
	c9(s)
	had := 0
	for i, e := range events {
		story := s.awaitStory(e, "set del")
		taken, twice := false, false
		for _, what := range strings.Fields(story) {
			twice = twice || taken && what == "set"
			taken = what == "set"
		}
		s.Prove(story != "" && !twice, fmt.Sprintf("server %d never gave the key while it had it", i+1), "%s", story)
		if strings.Contains(story, "set expired") {
			had++
		}
	}
	s.Prove(had > len(events)/2, "A held a majority of the servers", "%d of %d", had, len(events))
	s.TellJournal()
}

// TellJournal tells whose writes the store has accepted, in its order: journal=B,A.
func (s *Stage) TellJournal() {
	ctx, cancel := s.Context()
	defer cancel()
	accepted, err := s.store.Journal(ctx)
	s.must(err, "ask the journal")
	var writers []string
	for _, e := range accepted {
		writer, _, _ := strings.Cut(e.WriteID, "-")
		writers = append(writers, writer)
	}
	s.Tell("journal", strings.Join(writers, ","))
}

// c23a is C9, with time left when the lock was judged to be held.
func c23a(s *Stage) {
	c9(s)
	s.proveValid(s.actors[0])
}

// c23b is C16b: A's write waits in the network until B has written.
func c23b(s *Stage) {
	c16bNetwork(s)
	s.proveValid(s.actors[0])
}

func (s *Stage) proveValid(a *Actor) {
	s.Prove(s.validity(a) > 0, "time was left of the lease when A's acquire returned", "%.3f s", s.validity(a).Seconds())
}

// proveRefused: all of b's attempts were in vain, and ended before a's lease did.
func (s *Stage) proveRefused(b *Actor, tried workloads.Done, a *Actor, least int) {
	s.Prove(tried.Outcome != history.OK && tried.Tries >= least && tried.Return < a.LeaseEnd(), b.Name+" was refused while "+a.Name+" held the lock",
		"%d times, the last %.2f s before the lease's end", tried.Tries, seconds(a.LeaseEnd()-tried.Return))
}
