package claims

import (
	"context"
	"fmt"
	"time"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/history"
)

// durable are servers that keep every write that they have answered.
var durable = &cluster.Spec{Redis: 5, RedisDurable: true, Postgres: true}

const x15Expect = "progress=holds lease-exclusion=holds"

var extraRedlock = []Claim{
	{
		ID:   "X9",
		Says: "Redlock, and a node restarts without its data.",
		Cases: []Case{
			{Name: "a", About: "at once, empty", Strategy: "redlock+plain", TTL: 10 * time.Second, Own: ofItsOwn, Play: nodeLoses(true, false),
				Expect: "acquire(B)=ok all4=violated",
				Breaks: []Break{{About: "every write is on disk before its answer", Apply: func(c *Case) { c.Own, c.Play = durable, nodeLoses(false, false) }}}},
			{Name: "b", About: "empty, after A's lease", Strategy: "redlock+plain", TTL: 2 * time.Second, Own: ofItsOwn, Play: nodeLoses(true, true),
				Expect: "acquire(B)=ok early(B)=no all4=holds",
				Breaks: []Break{{About: "the restart is not delayed", Apply: func(c *Case) { c.TTL, c.Play = 10*time.Second, nodeLoses(true, false) }}}},
			{Name: "c", About: "at once, with its data", Strategy: "redlock+plain", TTL: 10 * time.Second, Own: durable, Play: nodeLoses(false, false),
				Expect: "acquire(B)=fail all4=holds",
				Breaks: []Break{{About: "nothing is on disk", Apply: func(c *Case) { c.Own = ofItsOwn }}}},
		},
	},
	{
		ID:   "X15",
		Says: "With usual defaults a stopped minority makes Redlock unusable.",
		Cases: []Case{
			{Name: "a", About: "redsync on go-redis as it is by default", Strategy: "redsync-defaults+plain", TTL: 2 * time.Second, Own: ofItsOwn, Play: oneStopped,
				Expect: "progress=violated rounds=0 lease-exclusion=holds",
				Breaks: []Break{With("redsync-timeouts+plain")}},
			{Name: "b", About: "the same with ContextTimeoutEnabled", Strategy: "redsync-timeouts+plain", TTL: 2 * time.Second, Own: ofItsOwn, Play: oneStopped, Expect: x15Expect,
				Breaks: []Break{With("redsync-defaults+plain")}},
			{Name: "c", About: "our Redlock, which gives each node a tenth of the lease", Strategy: "redlock+plain", TTL: 2 * time.Second, Own: ofItsOwn, Play: oneStopped, Expect: x15Expect,
				Breaks: []Break{With("redlock-slow+plain")}},
		},
	},
}

// nodeLoses kills server 3 while A holds servers 1, 2 and 3, and starts it again:
// empty or with what it keeps, at once or after A's lease.
func nodeLoses(empty, late bool) func(*Stage) {
	return func(s *Stage) {
		a := s.takesThree("A")
		b := s.second()
		third := s.Servers.Cluster.Redis[2]
		before := s.info(2, "run_id")
		s.KillServer(third)
		restart := func() {
			ctx, cancel := s.Context()
			defer cancel()
			again := third.Restart
			if empty {
				again = third.RestartEmpty
			}
			s.must(again(ctx), "restart "+third.Name)
			s.Fault(s.FaultID("restart"), "restart", history.Healed, third.Name, "")
			now := ""
			s.Await("the new life of server 3", func(context.Context) bool { now = s.info(2, "run_id"); return now != "" })
			s.Prove(before != "" && now != before, "server 3 was started again", "run_id %.8s, then %.8s", before, now)
			left := seconds(a.LeaseEnd() - history.Now())
			if left > 0 {
				s.Say("server 3 was started again %.2f s before the end of A's lease", left)
			} else {
				s.Say("server 3 was started again %.2f s after the end of A's lease", -left)
			}
		}
		if !late {
			restart()
		}
		tried := b.Try(5)
		early := tried.Outcome == history.OK
		switch {
		case early:
			s.Tell("early(B)", "yes")
			s.Prove(tried.Return < a.LeaseEnd(), "B had the lock before the end of A's lease", "%.2f s before", seconds(a.LeaseEnd()-tried.Return))
			b.Enter()
			b.Write()
		default:
			s.Tell("early(B)", "no")
			s.proveRefused(b, tried, a, 5)
		}
		a.Write()
		if late {
			s.AwaitFree(a.Resource, 4) // server 3 is not there
			restart()
			s.TakesOver(b)
		} else if early {
			b.Release()
		}
		a.Release()
	}
}

// oneStopped has an actor update again and again while one of five servers is
// stopped; 5 leases without the lock are too long.
func oneStopped(s *Stage) {
	a := s.Cast("A")[0]
	const node, wanted = 4, 3
	ping := s.unanswered(node)
	rounds := 0
	begun := history.Now()
	for rounds < wanted {
		got, ok := a.TryFor(5*s.TTL + 2*time.Second)
		if !ok {
			s.Say("an attempt took %.1f s, with leases of %.1f s", seconds(got.Return-got.Call), s.TTL.Seconds())
			break
		}
		a.Read()
		a.Write()
		a.Release()
		rounds++
	}
	s.Say("%d updates in %.1f s", rounds, seconds(history.Now()-begun))
	s.Tell("rounds", fmt.Sprint(rounds))
	ctx, cancel := context.WithTimeout(s.ctx, 10*time.Second)
	defer cancel()
	four := 0
	for i := range node {
		if s.Servers.Redis(i).Ping(ctx).Err() == nil {
			four++
		}
	}
	s.Prove(four == node, "the other four answered", "%d", four)
	s.Prove(ping() && s.Servers.Cluster.Redis[node].State() == cluster.Stopped, "server 5 was stopped all the time", "it answered nothing, %s", s.Servers.Cluster.Redis[node].State())
}

// unanswered stops a server and asks it something; asked afterwards, it reports
// whether there is no answer yet.
func (s *Stage) unanswered(node int) func() bool {
	client := s.Servers.Redis(node)
	ctx, cancel := s.Context()
	s.must(client.Ping(ctx).Err(), "ask a server") // so that there is a connection
	s.StopServer(s.Servers.Cluster.Redis[node])
	answered := make(chan error, 1)
	go func() { answered <- client.Do(ctx, "PING").Err() }()
	return func() bool {
		defer cancel()
		select {
		case err := <-answered:
			return err != nil
		default:
			return true
		}
	}
}
