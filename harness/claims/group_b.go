package claims

import (
	"slices"

	"github.com/torture-harness/torture/harness/history"
)

// groupB: the holder is stopped, and its lease goes on counting.
var groupB = slices.Concat(claimsOfPauses, claimsOfRenewals, claimsOfChecks)

// c9 is the schedule of C9: A is stopped between its read and its write, past
// the end of its lease; B takes over; A goes on and writes.
func c9(s *Stage) { c9For(0)(s) }

// c9For is C9 with a pause of so many leases at least.
func c9For(leases float64) func(*Stage) {
	return func(s *Stage) {
		cast := s.Cast("A", "B")
		c9Of(s, cast[0], cast[1], leases)
	}
}

// c9Of is C9's schedule of actors who are on the stage. It is false if b did
// not get the lock.
func c9Of(s *Stage, a, b *Actor, leases float64) bool {
	a.Acquire()
	read := a.Enter()
	s.Stop(a)
	if !s.UntilLeaseEnded(a) || !s.TakesOver(b) {
		return false
	}
	s.stoppedFor(a, leases)
	accepted := s.InJournal(b.Last(history.Write).Op)
	wrote := s.ResumeInto(a, history.Write)
	a.Release()
	s.ProveC9(a, b, read, wrote, accepted)
	s.TellLast(a, b)
	return true
}
