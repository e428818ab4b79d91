package claims

import (
	"context"
	"fmt"
	"time"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

// c15Race: 20 writers in 4 processes, which are stopped one after the other.
// They are stopped while they think, and look at their flags as the first thing
// after the resume, while the thread that renews learns that the lease is lost.
// Which of the two runs first is up to the scheduler, so it is tried again, a
// few times, if no writer of 20 was.
func c15Race(s *Stage) {
	const each, least, most = 5, 20, 60
	won, n := 0, 0
	for n < least || won == 0 && n < most {
		var first, second []Part
		for i := n; i < n+each; i++ {
			resource := s.resources()[i%least]
			first = append(first, Part{Name: fmt.Sprintf("A%02d", i), Resource: resource})
			second = append(second, Part{Name: fmt.Sprintf("B%02d", i), Resource: resource})
		}
		k, ok := s.race(s.OneProcess(first...), s.OneProcess(second...))
		if !ok {
			return
		}
		won, n = won+k, n+each
	}
	s.Say("the writer won the race in %d of %d", won, n)
	s.Tell("race", map[bool]string{true: "won", false: "lost"}[won > 0])
}

// race has the holders, all in one process, stopped past the end of their
// leases; each of the others takes over one of them. It counts the holders that
// wrote all the same; it is false if one could not be taken over.
func (s *Stage) race(holders, others []*Actor) (won int, ok bool) {
	reads, writing := make([]workloads.Done, len(holders)), make([]*Doing, len(holders))
	for i, a := range holders {
		a.Acquire()
		reads[i] = a.Enter()
	}
	for i, a := range holders { // thinking ends at different times, all of them within the pause
		writing[i] = a.writeUnlessLost(s.TTL/4 + time.Duration(i)*s.TTL/8)
	}
	s.Stop(holders[0])
	accepted, written := true, int64(0)
	for i, a := range holders {
		lease, b := a.Lease(), others[i]
		s.Await("the lease of "+a.Name+" has ended", func(ctx context.Context) bool { return s.Servers.Gone(ctx, a.Strategy.Locker, lease) })
		if !s.TakesOver(b) {
			return 0, false
		}
		accepted = s.InJournal(b.Last(history.Write).Op) && accepted
		written = b.Last(history.Write).Return
	}
	s.Resume(holders[0])
	stop := holders[0].stops[0]
	between, outlived := accepted, stop.To > written && stop.Threads > 0
	for i, a := range holders {
		wrote := writing[i].waitOrNone()
		if wrote.Op != "" {
			won++
		}
		outlived = outlived && stop.From < a.LeaseEnd() && a.Last(history.Acquire).Return < others[i].Last(history.Acquire).Call
		between = between && reads[i].Return < stop.From && (wrote.Op == "" || stop.To < wrote.Call)
		a.Release()
	}
	first, last := holders[0].Name, holders[len(holders)-1].Name
	s.Prove(outlived, fmt.Sprintf("the process of %s to %s was in T from before the end of their leases until all of the others had written", first, last), "%d threads, for %.2f s", stop.Threads, seconds(stop.To-stop.From))
	s.Prove(between, "that was between their reads and their writes; the others' writes were in the journal before they went on", "%d resources", len(holders))
	s.proveNoRenewal(holders[0])
	for _, a := range holders {
		if a.Last(history.Write).Op == "" {
			var n int
			s.SQL([]any{&n}, `SELECT count(*) FROM journal WHERE holder = $1`, a.Last(history.Acquire).Op)
			s.Prove(n == 0, a.Name+", which lost the race, wrote nothing", "%d writes in the journal", n)
		}
	}
	return won, true
}
