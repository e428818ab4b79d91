package claims

import (
	"fmt"
	"strings"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

// readLate are the answers of a majority, read: the client says so itself.
func readLate(got workloads.Done) bool {
	return got.Outcome == history.OK || strings.Contains(got.Error, "a majority said yes")
}

// between is what is played while an attempt is under way, after its keys have
// expired.
type between func(s *Stage, a *Actor) (b *Actor)

// stoppedInside stops A inside its attempt, its requests sent and no answer
// read, until its keys have expired and meanwhile has been played; then A goes on.
func stoppedInside(s *Stage, meanwhile between) (a, b *Actor, got workloads.Done, nodes []*Monitor) {
	nodes = s.MonitorAll()
	a = s.Parts(Part{Name: "A", PerNode: 20 * s.TTL})[0]
	a.Arm(workloads.AcquireMid)
	trying := a.Begin(workloads.Step{Do: history.Acquire, Tries: 1})
	a.AwaitAt(workloads.AcquireMid)
	s.Stop(a)
	s.AwaitTaken(a.Resource, 5)
	s.AwaitFree(a.Resource, 5)
	b = meanwhile(s, a)
	a.Go()
	s.Resume(a)
	got = trying.Wait()
	stop := a.stops[len(a.stops)-1]
	s.Prove(got.Call < stop.From && stop.From < got.Call+int64(s.TTL) && stop.To < got.Return && stop.Threads > 0,
		"A was stopped inside its acquisition, from before its keys' end", "%d threads, stopped %.2f s before their end, for %.2f s",
		stop.Threads, seconds(got.Call+int64(s.TTL)-stop.From), seconds(stop.To-stop.From))
	if b != nil {
		wrote := max(b.Last(history.Read).Return, b.Last(history.Write).Return)
		s.Prove(stop.To > wrote, "A went on after B was there", "%.3f s after B's last answer", seconds(stop.To-wrote))
	}
	s.proveLate(got)
	return a, b, got, nodes
}

// proveLate: A read the answers of a majority, and its lease had ended by then.
func (s *Stage) proveLate(got workloads.Done) {
	said := "it took the lock"
	if got.Outcome != history.OK {
		said = got.Error
	}
	s.Prove(readLate(got), "A read three answers of yes or more", "%s", said)
	s.Prove(got.Return > got.Call+int64(s.TTL), "A's acquisition ended after its lease", "%.2f s after", seconds(got.Return-got.Call-int64(s.TTL)))
}

// c21a: B takes over while A is stopped inside its acquisition.
func c21a(s *Stage) {
	a, _, got, nodes := stoppedInside(s, func(s *Stage, _ *Actor) *Actor {
		b := s.Cast("B")[0]
		s.TakesOver(b)
		return b
	})
	s.tellReleased(a, got, nodes)
}

// c21b: the same, and it is the answers that are delayed.
func c21b(s *Stage) {
	nodes := s.MonitorAll()
	cast := s.Parts(Part{Name: "A", Wired: true, PerNode: 20 * s.TTL}, Part{Name: "B"})
	a, b := cast[0], cast[1]
	a.Acquire()
	a.Release()
	got := s.delayed(a, func(int64) {
		s.AwaitFree(a.Resource, 5)
		s.TakesOver(b)
	})
	s.Prove(got.Return > b.Last(history.Write).Return, "A's acquisition ended after B's write", "%.3f s after", seconds(got.Return-b.Last(history.Write).Return))
	s.proveLate(got)
	s.tellReleased(a, got, nodes)
}

// tellReleased tells on how many servers A's attempt was released.
func (s *Stage) tellReleased(a *Actor, got workloads.Done, nodes []*Monitor) {
	value := a.Lease().Value // of a lock judged to be held
	if got.Outcome != history.OK {
		value = releasedValue(nodes[0])
	}
	s.Tell("released", fmt.Sprint(executedOn(nodes, isRelease(value))))
	if got.Outcome == history.OK {
		a.Release()
	}
}

// releasedValue is the value of the last compare-and-delete that a server has seen.
func releasedValue(m *Monitor) string {
	m.Catch()
	all := m.Seen(func(c Command) bool { return c.Is("eval") || c.Is("evalsha") })
	if len(all) == 0 {
		return ""
	}
	last := all[len(all)-1].Args
	return last[len(last)-1]
}

// c22a: B has read while A is stopped; both then write.
func c22a(s *Stage) {
	a, b, got, _ := stoppedInside(s, func(s *Stage, _ *Actor) *Actor {
		b := s.Cast("B")[0]
		b.Acquire()
		b.Enter()
		return b
	})
	if got.Outcome == history.OK {
		a.Enter()
	}
	b.Write()
	if got.Outcome == history.OK {
		a.Write()
		a.Release()
	}
	b.Release()
	s.Prove(len(a.stops) == 1, "A was not stopped after that", "1 stop")
}

// c22b: nobody asks until A has returned; then B takes over.
func c22b(s *Stage) {
	a, _, got, _ := stoppedInside(s, func(*Stage, *Actor) *Actor { return nil })
	b := s.Cast("B")[0]
	if got.Outcome == history.OK {
		a.Enter()
	}
	s.TakesOver(b)
	if got.Outcome == history.OK {
		a.Write()
		a.Release()
	}
	s.Prove(got.Return < b.Last(history.Acquire).Call, "B asked after A's acquisition had returned", "%.3f s after", seconds(b.Last(history.Acquire).Call-got.Return))
	s.Prove(len(a.stops) == 1, "A was not stopped after that", "1 stop")
}
