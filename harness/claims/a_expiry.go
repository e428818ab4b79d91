package claims

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/wire"
	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/point"
)

// claimsOfExpiry: a lock that its holder never gives back ends all the same.
var claimsOfExpiry = []Claim{
	{
		ID:   "C1",
		Says: "SET key value NX PX ttl sets value and expiry in one command: no gap in which a process exit leaves no expiry.",
		Cases: []Case{
			{About: "20 holders killed around their SET", Strategy: "redis-setnx+plain", Resources: []string{"r1", "r2", "r3", "r4", "r5"}, Play: c1,
				Expect: "lease-exclusion=holds progress=holds expiry=always handovers=20",
				Breaks: []Break{With("redis-setnx-expire+plain")}},
		},
	},
	{
		ID:   "C2",
		Says: "SETNX, then EXPIRE: a process that exits between the two leaves the lock held for ever.",
		Cases: []Case{
			{Name: "a", About: "killed between the two", Strategy: "redis-setnx-expire+plain", Play: c2Killed,
				Expect: "progress=violated expiry(A)=none acquire(B)=fail",
				Breaks: []Break{inOne}},
			{Name: "b", About: "stopped between the two for three leases", Strategy: "redis-setnx-expire+plain", Play: c2Stopped,
				Expect: "no handover progress=holds expiry(A)=none",
				Breaks: []Break{inOne}},
		},
	},
	{
		ID:   "C6",
		Says: "The lock is a lease: at its end Redis lets the next applicant in.",
		Cases: []Case{
			{Name: "a", About: "the holder is stopped", Strategy: "redis-setnx+plain", TTL: 2 * time.Second, Play: c6Holder,
				Expect: "lease-exclusion=holds acquire(B)=ok early(B)=no",
				Breaks: []Break{With("redis-setnx-forever+plain")}},
			{Name: "b", About: "Redis is stopped across the end of the lease", Strategy: "redis-setnx+plain", TTL: 2 * time.Second, Play: c6Redis,
				Own:    &cluster.Spec{Redis: 1, Postgres: true},
				Expect: "lease-exclusion=holds acquire(B)=ok early(B)=no",
				Breaks: []Break{With("redis-setnx-forever+plain")}},
		},
	},
}

// inOne is the lock of C1 in the place of that of C2.
var inOne = Break{About: "one SET NX PX replaces the two", Apply: func(c *Case) {
	c.Strategy, c.TTL = "redis-setnx+plain", 2*time.Second // for a look at a key that now has an end
}}

// c1: in each round five holders are killed, each of a lock of its own, and
// five others wait for these locks.
func c1(s *Stage) {
	var waiters []Part
	for i, r := range s.resources() {
		waiters = append(waiters, Part{Name: fmt.Sprintf("B%d", i+1), Resource: r})
	}
	bs := s.Parts(waiters...)
	random := rand.New(rand.NewPCG(uint64(s.run.seed), 1))
	seen, without, handovers := 0, 0, 0
	for round, where := range []string{workloads.AcquireMid, workloads.AfterAcquire, "in flight", "in flight"} {
		var holders []Part
		for i, r := range s.resources() {
			holders = append(holders, Part{Name: fmt.Sprintf("A%d", 5*round+i+1), Resource: r, Wired: where == "in flight"})
		}
		as := s.Parts(holders...)
		s.quietly(func() {
			for _, a := range as {
				s.killAround(a, where, random)
				key := s.Key(a.Resource)
				s.Within(s.TTL/2, func(ctx context.Context) bool { return s.look(ctx, key).there() })
				if k := s.lookNow(key); k.there() {
					seen++
					if !k.expires {
						without++
					}
				}
			}
		})
		s.Tell("expiry", map[bool]string{true: "always", false: "missing"}[without == 0])
		var tries []*Doing
		for _, b := range bs {
			tries = append(tries, b.Begin(workloads.Step{Do: history.Acquire}))
		}
		for i, d := range tries {
			if _, ok := d.Within(6*s.TTL + time.Second); !ok {
				s.Tell(noHandover, "")
				s.Say("%s never got the lock of the dead %s", bs[i].Name, as[i].Name)
				return
			}
			handovers++
			s.Tell("handovers", fmt.Sprint(handovers))
			bs[i].Release()
		}
	}
	s.Say("20 holders were killed; the keys of %d were seen, %d of them without an expiry", seen, without)
	s.Prove(seen >= 10, "in 10 tries or more the dead holder's key was seen", "in %d of 20", seen)
}

// quietly does what happens too often to be told each time.
func (s *Stage) quietly(do func()) {
	before := len(s.told)
	do()
	s.told = s.told[:before]
}

// killAround kills an actor in the middle of taking the lock: behind its SET,
// behind the answer, or a random moment after the SET was let go on its way.
func (s *Stage) killAround(a *Actor, where string, random *rand.Rand) {
	switch where {
	case workloads.AcquireMid:
		a.Arm(workloads.AcquireMid)
		a.Begin(workloads.Step{Do: history.Acquire, Tries: 1})
		a.AwaitAt(workloads.AcquireMid)
	case workloads.AfterAcquire:
		a.Acquire()
	default:
		a.Wires.Redis[0].HoldRequests(wire.Containing(s.Key(a.Resource)))
		a.Begin(workloads.Step{Do: history.Acquire, Tries: 1})
		s.AwaitHeld(a.Wires.Redis[0])
		a.Wires.Redis[0].Release()
		time.Sleep(time.Duration(random.IntN(1000)) * time.Microsecond) // the moment is what is tried
	}
	s.Kill(a)
}

// between has A take the lock and be held between its two commands, if it has
// two; what its key looks like then is told.
func (s *Stage) between(a *Actor) *Doing {
	a.Arm(point.Between)
	d := a.Begin(workloads.Step{Do: history.Acquire, Tries: 1})
	d.ArrivesAt(point.Between)
	k := s.lookNow(s.Key(a.Resource))
	s.Prove(k.there(), "A's key is there", "value %s", k.value)
	expiry := "none"
	if k.expires {
		expiry = k.left.String()
	} else if k.there() {
		s.Say("A's key had no expiry")
	}
	s.Tell("expiry(A)", expiry)
	return d
}

func c2Killed(s *Stage) {
	cast := s.Cast("A", "B")
	a, b := cast[0], cast[1]
	s.between(a)
	s.Kill(a)
	done, ok := b.TryFor(5*s.TTL + s.TTL/2)
	s.Prove(done.Tries >= 10, "B was refused 10 times", "it tried %d times", done.Tries)
	if ok {
		b.Release()
		return
	}
	s.Say("B tried for 5.5 leases and was refused %d times: the key has no expiry, it is no contention", done.Tries)
}

func c2Stopped(s *Stage) {
	cast := s.Cast("A", "B")
	a, b := cast[0], cast[1]
	taking := s.between(a)
	s.Stop(a)
	trying := b.Begin(workloads.Step{Do: history.Acquire})
	if !s.Within(3*s.TTL, func(context.Context) bool { return trying.Ended() }) {
		s.Tell(noHandover, "")
	}
	a.Go()
	s.Resume(a)
	if taking.Wait().Outcome == history.OK {
		a.Release()
	}
	done := trying.Wait()
	s.Prove(done.Tries >= 10, "B was refused 10 times", "it tried %d times", done.Tries)
	s.Say("B was let in at its try %d", done.Tries)
	b.Release()
}

func c6Holder(s *Stage) {
	cast := s.Cast("A", "B")
	a, b := cast[0], cast[1]
	a.Acquire()
	s.Stop(a)
	if !s.TakesLock(b) {
		return
	}
	s.tellEarly(b, a)
	s.ResumeInto(a, history.Release)
	stop, got := a.stops[0], b.Last(history.Acquire)
	s.Prove(stop.From < a.LeaseEnd() && got.Return < stop.To, "all threads of A in state T from before its lease's end until B had been granted the lock",
		"%d threads, stopped %.2f s before the lease's end, for %.2f s", stop.Threads, seconds(a.LeaseEnd()-stop.From), seconds(stop.To-stop.From))
	b.Release()
}

func c6Redis(s *Stage) {
	parts := s.Parts(Part{Name: "A"}, Part{Name: "B", Wired: true})
	a, b := parts[0], parts[1]
	b.Acquire() // so that its connection is open
	b.Release()
	a.Acquire()
	sent := func() int64 {
		var n int64
		for _, c := range b.Wires.Redis[0].Conns() {
			n += c.Stats().Requests
		}
		return n
	}
	before := sent()
	goOn := s.Suspend(s.Servers.Cluster.Redis[0])
	stopped := history.Now()
	trying := b.Begin(workloads.Step{Do: history.Acquire, Tries: 1})
	s.Await("B's SET in the socket of the stopped Redis", func(context.Context) bool { return sent() > before })
	s.Await("the end of A's lease", func(context.Context) bool { return history.Now() > a.LeaseEnd()+int64(10*time.Millisecond) })
	resumed := goOn()
	got := trying.Wait()
	s.Prove(got.Call < resumed && resumed < got.Return, "B's attempt was under way when Redis went on", "it had been sent %.2f s before, and returned %.4f s after",
		seconds(resumed-got.Call), seconds(got.Return-resumed))
	s.Prove(stopped < a.LeaseEnd() && a.LeaseEnd() < resumed, "Redis was stopped across the end of A's lease", "from %.2f s before it to %.2f s after", seconds(a.LeaseEnd()-stopped), seconds(resumed-a.LeaseEnd()))
	s.tellEarly(b, a)
	if got.Outcome == history.OK {
		b.Release()
	}
	a.Release()
}
