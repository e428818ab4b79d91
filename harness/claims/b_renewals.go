package claims

import (
	"context"
	"fmt"
	"time"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

// renewed is the lock of Redis, renewed by a thread of its holder's process,
// which keeps a flag: is the lease known to be lost?
const renewed = "redis-setnx+plain+renew"

// claimsOfRenewals: what renewing a lease does, and what it does not.
var claimsOfRenewals = []Claim{
	{
		ID:   "C14",
		Says: "Automatic renewal covers normal long work.",
		Cases: []Case{{About: "A works for three leases without a pause", Strategy: renewed, TTL: 2 * time.Second, Play: c14(true),
			Expect: "write(A)=ok write(B)=ok all4=holds",
			Breaks: []Break{{About: "renewal is off", Apply: func(c *Case) { c.Strategy, c.Play = "redis-setnx+plain", c14(false) }}}}},
	},
	{
		ID:   "C15",
		Says: "A renewal thread inside the process is stopped with it.",
		Cases: []Case{
			{Name: "a", About: "the flag is looked at, then the pause", Strategy: renewed, TTL: 2 * time.Second, Play: c15Looked,
				Expect: "look(A)=ok write(A)=ok all3=violated",
				Breaks: []Break{Play("a separate process renews", c15Outside)}},
			{Name: "b", About: "the flag is looked at after the pause, by 20 writers", Strategy: renewed, TTL: 2 * time.Second, Resources: numbered(20), Play: c15Race,
				Expect: "race=won lease-exclusion=holds all3=violated"},
			{Name: "c", About: "a separate process renews for a holder that is stopped", Strategy: "redis-setnx+plain", TTL: 2 * time.Second, Play: c15Outside,
				Expect: "no handover write(A)=ok all4=holds"},
			{Name: "d", About: "a separate process renews for a holder that was killed", Strategy: "redis-setnx+plain", TTL: 2 * time.Second, Play: c15Killed,
				Expect: "no handover progress=violated"},
		},
	},
	{
		ID:   "C16a",
		Says: "After a failed renewal the client should stop its work.",
		Cases: []Case{
			{Name: "a", About: "the renewal's connection is cut, and A looks at its flag", Strategy: renewed, TTL: 2 * time.Second, Play: c16a(true),
				Expect: "write(A)=none write(B)=ok all4=holds",
				Breaks: []Break{Play("the flag is not read", c16a(false))}},
			{Name: "b", About: "the same, and A does not look", Strategy: renewed, TTL: 2 * time.Second, Play: c16a(false),
				Expect: "write(A)=ok write(B)=ok lease-exclusion=holds all3=violated"},
		},
	},
}

// numbered are n resources.
func numbered(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("r%02d", i))
	}
	return names
}

// look has the actor look at its flag; the moment is ours.
func (a *Actor) look() workloads.Done {
	done := a.Begin(workloads.Step{Do: workloads.Look}).Wait()
	done.Return = history.Now()
	return done
}

// writeUnlessLost has the actor think, look at its flag, and write if it is not set.
func (a *Actor) writeUnlessLost(think time.Duration) *Doing {
	return a.Begin(workloads.Step{Do: history.Write, Think: think, Look: true})
}

// waitOrNone waits for a write that may be left out: then it is told as none.
func (d *Doing) waitOrNone() workloads.Done {
	done := d.Wait()
	if done.Op == "" {
		d.actor.stage.Tell(fmt.Sprintf("write(%s)", d.actor.Name), "none")
	}
	return done
}

// c14: A works for three leases while B wants the lock.
func c14(renews bool) func(*Stage) {
	return func(s *Stage) {
		cast := s.Cast("A", "B")
		a, b := cast[0], cast[1]
		took := a.Acquire()
		end := a.LeaseEnd()
		a.Enter()
		acquiring := b.Begin(workloads.Step{Do: history.Acquire})
		if !renews {
			acquiring.Wait()
			b.Enter()
			b.Write()
			b.Release()
		}
		var renewals []workloads.Done
		s.Await("A has worked for three leases, and renewed its own 8 times", func(context.Context) bool {
			renewals = s.Recorded(a, history.Renew)
			enough := !renews || acknowledged(renewals, 0, history.Never) >= 8 || !inTime(renewals, end)
			return enough && history.Now() > took.LeaseCall+3*int64(s.TTL)
		})
		a.Write()
		released := a.Release()
		s.Say("A worked for %.1f leases and renewed its own %d times", float64(released.Call-took.LeaseCall)/float64(s.TTL), len(renewals))
		if !renews {
			s.Prove(len(renewals) == 0 && history.Now() > end, "A worked for longer than its lease, without renewing", "three leases")
			return
		}
		got := acquiring.Wait()
		b.Enter()
		b.Write()
		b.Release()
		refused := 0
		for _, try := range s.Recorded(b, history.Acquire) {
			if try.Outcome == history.Fail && try.Call > end && try.Return < released.Call {
				refused++
			}
		}
		s.Prove(acknowledged(renewals, 0, history.Never) >= 8, "8 renewals or more were acknowledged", "%d", acknowledged(renewals, 0, history.Never))
		s.Prove(inTime(renewals, end), "no lease ended before it was renewed", "%.1f s each", s.TTL.Seconds())
		s.Prove(refused > 0, "B was refused after A's first lease", "%d times", refused)
		s.Prove(got.Outcome == history.OK && got.Return > released.Call, "B got the lock after A's release", "%.3f s after its call", seconds(got.Return-released.Call))
	}
}

// c15Looked: A looks at its flag and finds it unset, is stopped, and writes.
func c15Looked(s *Stage) {
	cast := s.Cast("A", "B")
	a, b := cast[0], cast[1]
	a.Acquire()
	a.Enter()
	looked := a.look()
	s.Stop(a)
	if !s.UntilLeaseEnded(a) || !s.TakesOver(b) {
		return
	}
	accepted := s.InJournal(b.Last(history.Write).Op)
	wrote := s.ResumeInto(a, history.Write)
	a.Release()
	s.ProveC9(a, b, looked, wrote, accepted)
	s.proveNoRenewal(a)
}

// proveNoRenewal: nothing renewed for the process of a while it was stopped.
func (s *Stage) proveNoRenewal(a *Actor) {
	stop := a.stops[len(a.stops)-1]
	n := acknowledged(s.Recorded(a, history.Renew), stop.From, stop.To)
	s.Prove(n == 0, "no renewal was acknowledged while "+a.Name+" was in T", "%d", n)
}

// c15Outside: a separate process renews while the holder is stopped.
func c15Outside(s *Stage) {
	cast := s.Cast("A", "B", "R")
	a, b, r := cast[0], cast[1], cast[2]
	a.Acquire()
	a.Enter()
	end := a.LeaseEnd()
	renewing := s.Renews(r, a)
	s.Stop(a)
	got := s.tryFor(b, 3*s.TTL)
	s.ResumeInto(a, history.Write)
	stop := a.stops[0]
	renewing.Stop()
	a.Release()
	if !got {
		s.TakesOver(b)
	}
	s.Prove(renewing.Acknowledged(stop.From, stop.To) >= 6, "6 renewals or more were acknowledged while A was in T", "%d", renewing.Acknowledged(stop.From, stop.To))
	s.Prove(renewing.InTime(end), "no lease ended before it was renewed", "%.1f s each", s.TTL.Seconds())
	s.Prove(stop.To-stop.From >= 3*int64(s.TTL), "A was stopped for three leases", "%.2f s, %d threads", seconds(stop.To-stop.From), stop.Threads)
}

// tryFor has the actor want the lock for a time; in vain is told as "no handover".
func (s *Stage) tryFor(b *Actor, most time.Duration) bool {
	done, ok := b.TryFor(most)
	if !ok {
		s.Tell(noHandover, "")
		s.Say("%s wanted the lock for %.1f leases in vain (%d tries)", b.Name, float64(most)/float64(s.TTL), done.Tries)
	}
	return ok
}

// c15Killed: a separate process renews for a holder that is dead.
func c15Killed(s *Stage) {
	cast := s.Cast("A", "B", "R")
	a, b, r := cast[0], cast[1], cast[2]
	a.Acquire()
	a.Enter()
	end := a.LeaseEnd()
	renewing := s.Renews(r, a)
	s.Kill(a)
	killed := history.Now()
	most := 5*s.TTL + s.TTL/2
	s.tryFor(b, most)
	renewing.Stop()
	n := renewing.Acknowledged(killed, history.Never)
	s.Prove(renewing.InTime(end), "no lease ended before it was renewed", "%.1f s each", s.TTL.Seconds())
	s.Prove(n >= 6, "6 renewals or more were acknowledged after A's death", "%d", n)
	s.Prove(history.Now()-killed >= int64(5*s.TTL), "B tried for five leases", "%.1f s", seconds(history.Now()-killed))
}

// c16a: A's renewals fail, and it goes on after B has taken over.
func c16a(obeys bool) func(*Stage) {
	return func(s *Stage) {
		cast := s.Parts(Part{Name: "A", Wired: true}, Part{Name: "B"})
		a, b := cast[0], cast[1]
		a.Acquire()
		a.Enter()
		s.cutForGood(a)
		if !s.UntilLeaseEnded(a) || !s.TakesOver(b) {
			return
		}
		s.Await("A's flag is set", func(context.Context) bool { return a.look().Outcome == history.Lost })
		accepted := s.InJournal(b.Last(history.Write).Op)
		goesOn := history.Now()
		if obeys {
			a.writeUnlessLost(0).waitOrNone()
		} else {
			a.Write()
		}
		var failed *workloads.Done
		for _, d := range s.Recorded(a, history.Renew) {
			if d.Outcome != history.OK && failed == nil {
				failed = &d
			}
		}
		took := b.Last(history.Acquire)
		why := "none did"
		if failed != nil {
			why = failed.Error
		}
		s.Prove(failed != nil && failed.Return < took.Return, "a renewal of A's failed before B got the lock", "%s", why)
		s.Prove(accepted && b.Last(history.Write).Return < goesOn, "B's write was in the journal, and A's flag set, before A went on", "%.3f s after the write", seconds(goesOn-b.Last(history.Write).Return))
		s.Prove(a.Last(history.Acquire).Return < took.Call, "B asked for the lock after A had it", "%.2f s later", seconds(took.Call-a.Last(history.Acquire).Return))
	}
}

// cutForGood resets what an actor has to Redis, which are its renewals' only
// requests just now, and lets nothing through any more.
func (s *Stage) cutForGood(a *Actor) {
	for _, p := range a.Wires.Redis {
		s.must(p.Close(), "cut a connection of "+a.Name)
	}
	s.Record(history.Event{Type: history.TypeNote, Time: history.Now(), Worker: a.Worker, Note: "its connections to Redis were cut, for good"})
	s.Say("%s was cut off from Redis, and from nothing else", a.Name)
}
