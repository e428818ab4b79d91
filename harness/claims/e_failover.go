package claims

import (
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/lock"
)

// withReplica is a Redis that has a replica to fail over to.
var withReplica = &cluster.Spec{Redis: 1, RedisReplica: true, Postgres: true}

// extraFailover: a lock on a Redis with a replica is as good as its replication.
var extraFailover = []Claim{
	{
		ID:   "X16",
		Says: "A failover loses the lock: Redis answers before its replica has heard of it.",
		Cases: []Case{
			{Name: "a", About: "the replica had not yet heard of the lock", Strategy: "setnx", TTL: 10 * time.Second, Own: withReplica, Play: failover(false),
				Expect: "acquire(B)=ok early(B)=yes all4=violated",
				Breaks: []Break{Play("the replica has heard of it", failover(true))}},
			{Name: "b", About: "the replica had heard of the lock", Strategy: "setnx", TTL: 3 * time.Second, Own: withReplica, Play: failover(true),
				Expect: "acquire(B)=ok early(B)=no all4=holds",
				Breaks: []Break{Play("the replica has not heard of it", failover(false))}},
		},
	},
}

// failover kills the master while A holds the lock, makes its replica the new
// one, and has B ask that for the lock. Unless the replica has heard of the lock,
// it was stopped and cut off before A took it, so that nothing of it was under
// way to the replica either.
func failover(heard bool) func(*Stage) {
	return func(s *Stage) {
		master, replica := s.Servers.Cluster.Redis[0], s.Servers.Cluster.Replica
		ctx, cancel := s.Context()
		defer cancel()
		s.must(replica.WaitLink(ctx, true), "wait for "+replica.Name)
		goOn := func() int64 { return 0 }
		if !heard {
			goOn = s.Suspend(replica)
			s.must(s.Servers.Redis(0).Do(ctx, "CLIENT", "KILL", "TYPE", "REPLICA").Err(), "cut the replica off")
		}
		a := s.Cast("A")[0]
		a.Acquire()
		a.Enter()
		if heard {
			acknowledged, err := s.Servers.Redis(0).Wait(ctx, 1, s.TTL/3).Result()
			s.must(err, "ask for the replica")
			s.Prove(acknowledged == 1, "the replica had acknowledged everything", "WAIT says %d", acknowledged)
		}
		s.KillServer(master)
		goOn()
		s.must(replica.WaitLink(ctx, false), "wait for "+replica.Name)
		s.must(replica.Promote(ctx), "promote "+replica.Name)
		s.Fault(s.FaultID("promote"), "promote", history.Healed, replica.Name, "REPLICAOF NO ONE")
		s.Servers.failOver()
		value, err := s.Servers.Redis(0).Get(ctx, s.Key(a.Resource)).Result()
		if !errors.Is(err, redis.Nil) {
			s.must(err, "ask the new master")
		}
		has := value == a.Lease().Value
		left := seconds(a.LeaseEnd() - history.Now())
		s.Prove(left > 0 && has == heard, "the new master was asked for the lock while A's lease lasted", "%.2f s were left, has it: %t", left, has)

		b := s.Cast("B")[0]
		took, ok := b.TryFor(2*s.TTL + 5*time.Second)
		if early := ok && took.Return < a.LeaseEnd(); early {
			s.Tell("early(B)", "yes")
			s.Say("B had the lock %.2f s before the end of A's lease", seconds(a.LeaseEnd()-took.Return))
		} else {
			s.Tell("early(B)", "no")
		}
		b.Enter()
		b.Write()
		if !heard {
			a.Write()
		}
		b.Release()
	}
}

// failOver is what a sentinel tells the clients: the replica is the master now.
func (s *Servers) failOver() {
	s.FailOver(lock.Server{Addr: s.Cluster.Replica.Addr, Password: s.Cluster.Replica.Password})
}
