package claims

import (
	"time"

	"github.com/torture-harness/torture/harness/history"
)

var extraTokens = []Claim{
	{
		ID:   "X7",
		Says: "A token read back after the lock, lock() and then getToken() from the global counter, may be the successor's.",
		Cases: []Case{
			{Name: "a", About: "the store accepts \"token >= old\"", Strategy: "redis-token-later+fenced-le", TTL: 3 * time.Second, Play: readBack,
				Expect: "write(A)=ok write(B)=ok token-order=violated all3=violated",
				Breaks: []Break{With("redis-incr-script+fenced-le")}},
			{Name: "b", About: "the store demands a larger token", Strategy: "redis-token-later+fenced", TTL: 3 * time.Second, Play: readBack,
				Expect: "write(A)=rejected write(B)=ok token-order=violated all4=holds"},
		},
	},
}

// readBack: A locks, reads and is stopped before it asks for its token; its
// lease ends; B takes over; A goes on, asks and writes.
func readBack(s *Stage) {
	cast := s.Cast("A", "B")
	a, b := cast[0], cast[1]
	draws := a.Strategy.Locker.Draws
	a.Acquire()
	read := a.Read()
	s.Stop(a)
	if !s.UntilLeaseEnded(a) || !s.TakesOver(b) {
		return
	}
	accepted := s.InJournal(b.Last(history.Write).Op)
	next := history.Write
	if draws {
		next = history.Draw
	}
	went := s.ResumeInto(a, next)
	if draws {
		a.Write()
	}
	a.Release()
	s.ProveC9(a, b, read, went, accepted)
	if draws {
		s.Prove(a.Last(history.Draw).Token == 2 && b.Last(history.Draw).Token == 2, "both grants carry the token 2", "A %d, B %d", a.Last(history.Draw).Token, b.Last(history.Draw).Token)
	}
	s.TellLast(a, b)
}
