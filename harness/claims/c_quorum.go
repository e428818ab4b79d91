package claims

import (
	"context"
	"fmt"
	"time"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

// slowNodes are a majority of five, from 0.
var slowNodes = []int{2, 3, 4}

// reachable has an actor acquire with 5, 4, 3 and 2 of five servers; leave takes
// one away.
func reachable(leave func(s *Stage, a *Actor, node int)) func(*Stage) {
	return func(s *Stage) {
		s.ProveIndependent()
		nodes := s.MonitorAll()
		a := s.Parts(Part{Name: "A", Wired: true, PerNode: s.TTL / 10})[0]
		for n := 5; n >= 2; n-- {
			if n < 5 {
				leave(s, a, n)
			}
			got := a.Try(1)
			asked := 0
			for _, m := range nodes[:n] {
				m.Catch()
				if len(m.Seen(s.isSet(a.Resource, ""))) > 5-n {
					asked++
				}
			}
			s.Prove(asked == n, fmt.Sprintf("with %d servers left each of them was asked", n), "%d SETs seen there", asked)
			s.Tell(fmt.Sprintf("acquire(%d)", n), string(got.Outcome))
			if n == 2 {
				left := 0
				for _, v := range s.valuesOf(a.Resource)[:n] {
					if v != "" {
						left++
					}
				}
				s.Tell("left", fmt.Sprint(left))
			}
			if got.Outcome != history.OK {
				continue
			}
			s.Say("with %d servers %.3f s of the lease were left", n, s.validity(a).Seconds())
			a.Release()
		}
	}
}

// refuses has a server refuse the actor.
func refuses(_ *Stage, a *Actor, node int) { a.Refuse(node) }

// stops stops a server, for the rest of the case.
func stops(s *Stage, _ *Actor, node int) { s.StopServer(s.Servers.Cluster.Redis[node]) }

// lostReplies has the SETs of an attempt executed on all five servers, and the
// answers of three lost.
func lostReplies(s *Stage) {
	s.ProveIndependent()
	nodes := s.MonitorAll()
	a := s.Parts(Part{Name: "A", Wired: true, PerNode: s.TTL / 5})[0] // longer than a machine under load takes to open a connection
	a.Acquire()                                                       // so that there are connections
	a.Release()
	a.HoldYes(slowNodes...)
	trying := a.Begin(workloads.Step{Do: history.Acquire, Tries: 1})
	a.AwaitHeldReplies(slowNodes...)
	trying.Wait()
	value := lastSet(s, nodes[0], a.Resource)
	s.Prove(executedOn(nodes, s.isSet(a.Resource, value)) == 5, "the SETs of the attempt were executed on all servers", "3 answers were held")
	s.Tell("released", fmt.Sprint(executedOn(nodes, isRelease(value))))
	s.Tell("left", fmt.Sprint(s.Having(a.Resource, value)))
	a.LetReplies(slowNodes...)
}

// lastSet is the value of the last SET of a resource that a server has seen.
func lastSet(s *Stage, m *Monitor, resource string) string {
	m.Catch()
	sets := m.Seen(s.isSet(resource, ""))
	if len(sets) == 0 {
		s.impossible("no SET of %s was seen", resource)
	}
	return sets[len(sets)-1].Args[2]
}

// slow delays three answers of an attempt: to the middle of the lease, and then
// beyond it.
func slow(s *Stage) {
	a := s.Parts(Part{Name: "A", Wired: true, PerNode: 20 * s.TTL})[0]
	a.Acquire()
	a.Release()

	until := s.delayed(a, func(int64) { s.AwaitTTL(a.Resource, s.TTL*7/10) })
	s.Tell("acquire(slow)", string(until.Outcome))
	s.Prove(s.validity(a) > 0, "the slow acquisition left time", "%.2f s", s.validity(a).Seconds())
	a.Release()

	late := s.delayed(a, func(int64) { s.AwaitFree(a.Resource, 5) })
	s.Prove(late.Return-late.Call > int64(s.TTL), "the late one took longer than the lease", "%.2f s", seconds(late.Return-late.Call))
	s.Tell("acquire(late)", string(late.Outcome))
	if late.Outcome == history.OK {
		a.Release()
	}
}

// delayed has an actor make one attempt, and holds the answers of three servers
// until something has come. until gets the moment of the attempt's call at the
// earliest, ns.
func (s *Stage) delayed(a *Actor, until func(begun int64)) workloads.Done {
	a.HoldYes(slowNodes...)
	begun := history.Now()
	trying := a.Begin(workloads.Step{Do: history.Acquire, Tries: 1})
	a.AwaitHeldReplies(slowNodes...)
	until(begun)
	a.LetReplies(slowNodes...)
	return trying.Wait()
}

// AwaitTTL waits until at most so much is left of a key on the first server.
func (s *Stage) AwaitTTL(resource string, left time.Duration) {
	s.Await("the lease to pass", func(ctx context.Context) bool {
		is, err := s.Servers.Redis(0).PTTL(ctx, s.Key(resource)).Result()
		return err == nil && is <= left
	})
}

// driftEnds has three actors acquire so slowly that nothing is left of the lease
// but what the clocks may have gained. That is a narrow window, so each aims at
// another place in it, and one must have met it.
func driftEnds(s *Stage) {
	var parts []Part
	for i, r := range s.resources() {
		parts = append(parts, Part{Name: fmt.Sprintf("A%d", i+1), Resource: r, Wired: true, PerNode: 20 * s.TTL})
	}
	cast := s.Parts(parts...)
	type try struct {
		actor *Actor
		done  workloads.Done
		letAt int64 // ns, when the last answers were let through
	}
	tries := make([]try, len(cast))
	var all []func()
	for i, a := range cast {
		a.Acquire()
		a.Release()
		all = append(all, func() {
			t := try{actor: a}
			t.done = s.delayed(a, func(begun int64) {
				end := begun + int64(s.TTL-s.drift()*time.Duration(i+2)/5)
				s.Await("almost all of the lease to pass", func(context.Context) bool { return history.Now() >= end })
				t.letAt = history.Now()
			})
			tries[i] = t
		})
	}
	s.AtOnce(all...)
	met := 0
	outcome := "none"
	for _, t := range tries {
		from, to := t.letAt-t.done.Call, t.done.Return-t.done.Call
		if from > int64(s.TTL-s.drift()) && to < int64(s.TTL) {
			met++
			if outcome != string(history.OK) {
				outcome = string(t.done.Outcome)
			}
			s.Say("%s read the last answers %.3f to %.3f s before the end of its lease", t.actor.Name, seconds(int64(s.TTL)-to), seconds(int64(s.TTL)-from))
		}
		if t.done.Outcome == history.OK {
			t.actor.Release()
		}
	}
	s.Prove(met > 0, fmt.Sprintf("an acquisition ended in the last %d ms of its lease", s.drift().Milliseconds()), "%d of %d", met, len(tries))
	s.Tell("acquire(drift)", outcome)
}
