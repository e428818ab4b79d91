package claims

import (
	"context"
	"time"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/point"
)

// claimsOfChecks: where a check must be to be worth something.
var claimsOfChecks = []Claim{
	{
		ID:   "C16b",
		Says: "A request already sent may still wait in the network.",
		Cases: []Case{
			{Name: "a", About: "the write is held in the network", Strategy: "redis-setnx+plain", TTL: 2 * time.Second, Play: c16bNetwork, Expect: c16bExpect,
				Breaks: []Break{With("redis-setnx+version")}},
			{Name: "b", About: "the write waits in the socket of its backend, which is stopped", Strategy: "redis-setnx+plain", TTL: 3 * time.Second, Play: c16bBackend, Expect: c16bExpect,
				Breaks: []Break{With("redis-setnx+version")}},
		},
	},
	{
		ID:    "C17",
		Says:  "Checking the lock once more before writing leaves a gap.",
		Cases: c17Cases(),
	},
	{
		ID:   "C18",
		Says: "The check must happen at the controlled entry that modifies the resource.",
		Cases: []Case{
			{Name: "a", About: "SELECT last_fence, then UPDATE by id alone", Strategy: "redis-incr-script+fence-two-statements", TTL: 2 * time.Second, Play: c18Between, Expect: "write(A)=ok write(B)=ok all3=violated last_fence=A's"},
			{Name: "b", About: "the same in one transaction", Strategy: "redis-incr-script+fence-transaction", TTL: 2 * time.Second, Play: c18Between, Expect: "write(A)=ok write(B)=ok all3=violated last_fence=A's"},
			{Name: "c", About: "one conditional UPDATE", Strategy: "redis-incr-script+fenced", TTL: 2 * time.Second, Play: c9, Expect: "write(A)=rejected write(B)=ok all4=holds last=B",
				Breaks: []Break{{About: "the UPDATE is split into (a)", Apply: func(c *Case) {
					c.Strategy, c.Play = "redis-incr-script+fence-two-statements", c18Between
				}}}},
			{Name: "d", About: "SELECT … FOR UPDATE, then UPDATE, in one transaction", Strategy: "redis-incr-script+fence-for-update", TTL: 2 * time.Second, Play: c18Locked,
				Expect: "write(A)=ok write(B)=ok only rmw-atomic=violated last=B"},
		},
	},
}

const c16bExpect = "check(A)=ok write(A)=ok write(B)=ok lease-exclusion=holds all3=violated last=A"

// inFlight is C16b: A checks, sends its write, and that is on its way until B
// has taken over. delay holds what A will send, and returns what waits until it
// is on its way and what lets it go on.
func inFlight(s *Stage, a, b *Actor, delay func() (sent func(), arrive func())) {
	// A writes once before, so that what is on its way is the statement itself.
	s.TakesOver(a)
	a.Acquire()
	a.Enter()
	a.Check()
	sent, arrive := delay()
	writing := a.Begin(workloads.Step{Do: history.Write})
	sent()
	if !s.UntilLeaseEnded(a) || !s.TakesOver(b) {
		return
	}
	accepted := s.InJournal(b.Last(history.Write).Op)
	end := a.LeaseEnd()
	arrive()
	wrote := writing.Wait()
	a.Release()
	s.Prove(wrote.Call < end, "A sent its write before its lease's end", "%.2f s before", seconds(end-wrote.Call))
	s.Prove(accepted && b.Last(history.Write).Return < wrote.Return, "B's write was in the journal before A's was executed", "A's was answered %.3f s after B's", seconds(wrote.Return-b.Last(history.Write).Return))
	s.Prove(a.Last(history.Acquire).Return < b.Last(history.Acquire).Call, "B asked for the lock after A had it", "%.2f s later", seconds(b.Last(history.Acquire).Call-a.Last(history.Acquire).Return))
	if wrote.Outcome == history.OK {
		var first, second int
		s.SQL([]any{&first, &second}, `SELECT (SELECT seq FROM journal WHERE write_id = $1), (SELECT seq FROM journal WHERE write_id = $2)`, b.Last(history.Write).Op, wrote.Op)
		s.Prove(first < second, "A's write is behind B's in the journal", "%d, and %d", second, first)
	}
	s.TellLast(a, b)
}

// c16bNetwork holds the write in a proxy.
func c16bNetwork(s *Stage) {
	cast := s.Parts(Part{Name: "A", Wired: true}, Part{Name: "B"})
	a := cast[0]
	proxy := a.Wires.Postgres
	id := s.FaultID("delay")
	record := func(phase history.Phase, now string) {
		held := 0
		for _, c := range proxy.Held() {
			held += c.Stats().HeldRequests
		}
		s.Record(history.Event{Type: history.TypeFault, Time: history.Now(), Worker: a.Worker, Fault: &history.Fault{ID: id, Kind: "delay", Phase: phase,
			Victim: a.Worker, Point: workloads.InFlight, Bytes: map[string]int{a.Resource: held}}})
		s.Prove(held > 0, now, "%d bytes", held)
	}
	inFlight(s, a, cast[1], func() (func(), func()) {
		s.HoldRequests(proxy)
		return func() { s.AwaitHeld(proxy); record(history.Held, "A's write was held in the network") },
			func() {
				record(history.Released, "it was held still when B had written")
				s.LetThrough(proxy)
			}
	})
}

// c16bBackend stops the idle backend of A's connection; nothing is in between.
func c16bBackend(s *Stage) {
	cast := s.Cast("A", "B")
	a := cast[0]
	inFlight(s, a, cast[1], func() (func(), func()) {
		ctx, cancel := s.Context()
		defer cancel()
		resume, err := s.Servers.Cluster.Postgres.StopBackend(ctx, s.backendOf(a))
		if err != nil {
			s.impossible("%v", err)
		}
		id := s.FaultID("stop-backend")
		s.Fault(id, "stop-backend", history.Stopped, "the backend of A", "")
		goOn := s.Heal(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			s.Fault(id, "stop-backend", history.Resumed, "the backend of A", "")
			if err := resume(ctx); err != nil {
				s.Say("the backend of A was not let go on: %v", err)
			}
		})
		s.Say("A's backend was stopped")
		began := history.Now()
		return func() {
			s.Await("A has sent its write", func(context.Context) bool { return s.called(a, history.Write, began) })
		}, goOn
	})
}

// c17Checks are the ways to ask whether a lock is still one's own.
var c17Checks = []struct{ name, about, strategy string }{
	{"", "GET", "redis-setnx+plain"},
	{"-redislock", "redislock's TTL()", "redislock+plain"},
	{"-redsync", "redsync's Valid()", "redsync+plain"},
	{"-until", "redsync's Until()", "redsync-until+plain"},
	{"-etcd", "etcd's Get", "etcd+plain"},
}

func c17Cases() (cases []Case) {
	for _, c := range c17Checks {
		cases = append(cases, Case{Name: "a" + c.name, About: c.about + " says mine, then the pause", Strategy: c.strategy, TTL: 2 * time.Second, Play: c17Before,
			Expect: "check(A)=ok write(A)=ok lease-exclusion=holds all3=violated"})
	}
	for _, c := range c17Checks {
		cases = append(cases, Case{Name: "b" + c.name, About: "the pause, then " + c.about + " says not mine", Strategy: c.strategy, TTL: 2 * time.Second, Play: c17After(true),
			Expect: "check(A)=lost write(A)=none all4=holds",
			Breaks: []Break{Play("the check is left out", c17After(false))}})
	}
	return cases
}

// c17Before: A is stopped behind its check.
func c17Before(s *Stage) {
	cast := s.Cast("A", "B")
	a, b := cast[0], cast[1]
	a.Acquire()
	a.Enter()
	checked := a.Check()
	s.Stop(a)
	if !s.UntilLeaseEnded(a) || !s.TakesOver(b) {
		return
	}
	accepted := s.InJournal(b.Last(history.Write).Op)
	wrote := s.ResumeInto(a, history.Write)
	end := a.LeaseEnd()
	a.Release()
	s.ProveC9(a, b, checked, wrote, accepted)
	s.Prove(checked.Outcome == history.OK && checked.Return < end, "A was told that the lock is its own before its lease's end", "%.2f s before", seconds(end-checked.Return))
}

// c17After: A is stopped before its check, and writes only if the lock is its own.
func c17After(checks bool) func(*Stage) {
	return func(s *Stage) {
		cast := s.Cast("A", "B")
		a, b := cast[0], cast[1]
		a.Acquire()
		read := a.Enter()
		s.Stop(a)
		if !s.UntilLeaseEnded(a) || !s.TakesOver(b) {
			return
		}
		accepted := s.InJournal(b.Last(history.Write).Op)
		if !checks {
			s.Tell("check(A)", "none")
			wrote := s.ResumeInto(a, history.Write)
			a.Release()
			s.ProveC9(a, b, read, wrote, accepted)
			return
		}
		checked := s.ResumeInto(a, history.Check)
		s.Tell("write(A)", "none")
		if checked.Outcome == history.OK {
			a.Write()
		}
		a.Release()
		s.ProveC9(a, b, read, checked, accepted)
		s.Prove(checked.Call > b.Last(history.Acquire).Return, "A asked after B had got the lock", "%.3f s after", seconds(checked.Call-b.Last(history.Acquire).Return))
	}
}

// c18Between: A is stopped between the two statements of its write.
func c18Between(s *Stage) {
	cast := s.Cast("A", "B")
	a, b := cast[0], cast[1]
	a.Acquire()
	a.Enter()
	token := a.Lease().Token
	writing := s.stoppedInWrite(a)
	if !s.UntilLeaseEnded(a) || !s.TakesOver(b) {
		return
	}
	accepted := s.InJournal(b.Last(history.Write).Op)
	stillStopped := s.allStopped(a)
	a.Go()
	s.Resume(a)
	writing.Wait()
	a.Release()
	var last int64
	s.SQL([]any{&last}, `SELECT last_fence FROM config WHERE id = 0`)
	s.Tell("last_fence", map[bool]string{true: "A's", false: "B's"}[last == token])
	s.Say("last_fence is %d in the end", last)
	stop := a.stops[0]
	s.Prove(stop.From < b.Last(history.Write).Call, "A's SELECT had passed before B's write was accepted", "%.2f s before it was sent", seconds(b.Last(history.Write).Call-stop.From))
	s.Prove(stop.From < a.LeaseEnd() && stop.To > b.Last(history.Write).Return && stillStopped,
		"all threads of A in state T from before its lease's end until B's write was answered", "%d threads, for %.2f s", stop.Threads, seconds(stop.To-stop.From))
	s.Prove(accepted, "B's write was in the journal before A went on", "%s", b.Last(history.Write).Op)
	s.TellLast(a, b)
}

// stoppedInWrite begins the actor's write, and stops the actor where the first
// of its two statements has been answered and the second not been sent.
func (s *Stage) stoppedInWrite(a *Actor) *Doing {
	a.Arm(point.Between)
	writing := a.Begin(workloads.Step{Do: history.Write})
	a.AwaitAt(point.Between)
	s.Stop(a)
	return writing
}

// c18Locked: the same, but the first statement has locked the row. B has read,
// and its write waits for the lock.
func c18Locked(s *Stage) {
	cast := s.Cast("A", "B")
	a, b := cast[0], cast[1]
	a.Acquire()
	a.Enter()
	first := s.stoppedInWrite(a)
	if !s.UntilLeaseEnded(a) || !s.TakesLock(b) {
		return
	}
	saw := b.Enter()
	second := b.Begin(workloads.Step{Do: history.Write})
	waited := s.awaitRowLock(b, a)
	stillStopped := s.allStopped(a)
	a.Go()
	s.Resume(a)
	first.Wait()
	second.Wait()
	b.Release()
	end := a.LeaseEnd()
	a.Release()
	s.Prove(saw.WriteID == history.InitialWrite, "B had read v0", "%s", saw.WriteID)
	s.Prove(waited && stillStopped && a.stops[0].From < end, "B's write waited for a row lock of A's, which was in T since before its lease's end", "wait_event_type Lock, blocked by A's backend")
	s.TellLast(a, b)
}
