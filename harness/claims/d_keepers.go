package claims

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/worker"
	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/guard"
)

// claimsOfKeepers: who draws the number, and who keeps it.
var claimsOfKeepers = []Claim{
	{
		ID:   "C44",
		Says: "A separate INCR after the Redis lock is broken: A, stopped before it until B is done, draws the larger number.",
		Cases: []Case{
			{Name: "a", About: "read, stopped, INCR, write", Strategy: "redis-incr+fenced", TTL: 2 * time.Second, Play: drawsLate(true),
				Expect: "write(A)=ok write(B)=ok tokens=2,1 last=A token-order=violated all3=violated lease-exclusion=holds"},
			{Name: "b", About: "stopped, INCR, read, write", Strategy: "redis-incr+fenced", TTL: 2 * time.Second, Play: drawsLate(false),
				Expect: "write(A)=ok write(B)=ok tokens=2,1 token-order=violated only fence-order=violated"},
			{Name: "c", About: "INCR in the script that acquires", Strategy: "redis-incr-script+fenced", TTL: 2 * time.Second, Play: c9,
				Expect: "write(A)=rejected write(B)=ok all4=holds last=B",
				Breaks: []Break{{About: "INCR leaves the script", Apply: func(c *Case) {
					c.Strategy, c.Play = "redis-incr+fenced", drawsLate(true)
				}}}},
		},
	},
	{
		ID:   "C45",
		Says: "The store must persist the number.",
		Cases: []Case{
			{Name: "a", About: "in the memory of a process before the table", Strategy: "etcd+fence-memory", TTL: 2 * time.Second, Play: keeperDies,
				Expect: "write(A)=ok write(B)=ok content=B number=gone all3=violated"},
			{Name: "b", About: "in an UNLOGGED table", Strategy: "etcd+fence-unlogged", TTL: 2 * time.Second, Own: &cluster.Spec{Etcd: 1, Postgres: true}, Play: keeperDies,
				Expect: "write(A)=ok write(B)=ok content=B number=gone all3=violated"},
			{Name: "c", About: "in a Redis without persistence", Strategy: "etcd+fence-redis", TTL: 2 * time.Second, Own: &cluster.Spec{Redis: 1, Etcd: 1, Postgres: true}, Play: keeperDies,
				Expect: "write(A)=ok write(B)=ok content=B number=gone all3=violated"},
			{Name: "d", About: "in the row itself", Strategy: "etcd-fenced", TTL: 2 * time.Second, Own: &cluster.Spec{Etcd: 1, Postgres: true}, Play: keeperDies,
				Expect: "write(A)=rejected write(B)=ok content=B number=kept all4=holds",
				Breaks: []Break{With("etcd+fence-unlogged")}},
			{Name: "e", About: "in the row itself, synchronous_commit=off", Strategy: "etcd-fenced", TTL: 2 * time.Second, Play: keeperDies,
				Own:    &cluster.Spec{Etcd: 1, Postgres: true, PostgresSettings: map[string]string{"synchronous_commit": "off", "wal_writer_delay": "10s"}},
				Expect: "write(A)=ok write(B)=ok content=init number=gone durability=violated register=violated all3=undecided"},
		},
	},
}

// drawsLate: A holds the lock, and is stopped before it draws its token; B takes
// over; A goes on, draws, and writes from what it read before or after.
func drawsLate(readsBefore bool) func(*Stage) {
	return func(s *Stage) {
		cast := s.Cast("A", "B")
		a, b := cast[0], cast[1]
		before := a.Acquire()
		if readsBefore {
			before = a.Enter()
		}
		s.Stop(a)
		if !s.UntilLeaseEnded(a) || !s.TakesOver(b) {
			return
		}
		accepted := s.InJournal(b.Last(history.Write).Op)
		drew := s.ResumeInto(a, history.Draw)
		if !readsBefore {
			a.Enter()
		}
		a.Write()
		s.TellLast(a, b)
		s.ProveC9(a, b, before, drew, accepted)
		mine, theirs := drew.Token, b.Last(history.Draw).Token
		s.Tell("tokens", fmt.Sprintf("%d,%d", mine, theirs))
		var numbers string
		s.SQL([]any{&numbers}, `SELECT string_agg(last_fence::text, ',' ORDER BY seq) FROM journal`)
		s.Prove(numbers == fmt.Sprintf("%d,%d", theirs, mine) && theirs < mine, "the store compared rightly: its number only rose", "%s", numbers)
	}
}

// keeperDies: C9; when B has written, whoever keeps the number is killed and
// restarted; then A goes on.
func keeperDies(s *Stage) {
	restart, ofStore := s.keeperOfNumbers()
	cast := s.Cast("A", "B")
	a, b := cast[0], cast[1]
	a.Acquire()
	read := a.Enter()
	s.Stop(a)
	if !s.UntilLeaseEnded(a) {
		return
	}
	s.awaitFlush()
	if !s.TakesOver(b) {
		return
	}
	accepted := s.InJournal(b.Last(history.Write).Op)
	restart()
	s.Say("the keeper of the number was killed and restarted")

	o := s.Cast("O")[0]
	seen := o.Read()
	names := map[string]string{b.Last(history.Write).Op: b.Name, history.InitialWrite: history.InitialWrite}
	s.Tell("content", names[seen.WriteID])
	if s.Case.Own != nil && s.Case.Own.PostgresSettings["synchronous_commit"] == "off" {
		s.Prove(seen.WriteID == history.InitialWrite, "B's write had not reached the disk when the store was killed", "O saw %s", seen.WriteID)
	}
	var number int64
	s.Await("the number can be asked for", func(ctx context.Context) (ok bool) {
		number, ok = s.number(ctx)
		return ok
	})
	switch number {
	case 0:
		s.Tell("number", "gone")
	case b.Last(history.Acquire).Token:
		s.Tell("number", "kept")
	default:
		s.Tell("number", fmt.Sprint(number))
	}

	if ofStore {
		// A's first statement finds its connection dead, so it is one that asks only.
		a.Begin(workloads.Step{Do: history.Read})
	}
	wrote := s.ResumeInto(a, history.Write)
	s.ProveC9(a, b, read, wrote, accepted)
	s.Prove(seen.Outcome == history.OK && b.Last(history.Write).Outcome == history.OK && b.Last(history.Write).Return < seen.Call,
		"O read after B had been told of its success and the keeper had been killed", "it saw %s", seen.WriteID)
}

// keeperOfNumbers is who keeps the number: how to kill it (-9) and start it
// again, and whether it is the store itself.
func (s *Stage) keeperOfNumbers() (restart func(), ofStore bool) {
	switch c := s.Servers.Cluster; s.strategy.Guard.Name {
	case "fence-memory":
		return s.startKeeper(), false
	case "fence-redis":
		return func() { s.KillServer(c.Redis[0])() }, false
	default:
		return func() { s.KillServer(c.Postgres)() }, true
	}
}

// startKeeper starts a process that keeps numbers in its memory, for actors that
// come later.
func (s *Stage) startKeeper() (restart func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err, "find a port")
	s.keeper = l.Addr().String()
	s.must(l.Close(), "find a port")
	var process *worker.Player
	start := func() {
		ctx, cancel := s.Context()
		defer cancel()
		var err error
		process, err = worker.Launch(ctx, worker.Setup{Worker: "keeper", Keeper: s.keeper}, s.path("logs"), func(pid int, start uint64) error {
			return s.run.guardian.Process(pid, start, "keeper")
		})
		s.must(err, "start the keeper of the numbers")
	}
	start()
	s.Heal(func() { process.Destroy(context.Background()) })
	return func() {
		ctx, cancel := s.Context()
		defer cancel()
		s.must(process.Kill(ctx), "kill the keeper of the numbers")
		start()
	}
}

// awaitFlush waits until all that has been committed is on disk. Commits that
// nobody waits for are flushed by the WAL writer, at the end of its delay, so
// that what is committed next stays in memory for a whole one.
func (s *Stage) awaitFlush() {
	s.must(s.ExecSQL(`CREATE TABLE flushed ()`), "commit something")
	var lsn string
	s.SQL([]any{&lsn}, `SELECT pg_current_wal_insert_lsn()::text`)
	s.Await("the log is on disk", func(ctx context.Context) (ok bool) {
		err := s.store.QueryRow(ctx, `SELECT pg_current_wal_flush_lsn() >= $1::text::pg_lsn`, lsn).Scan(&ok)
		return err == nil && ok
	})
}

// number is the fence as its keeper has it, 0 if it has none.
func (s *Stage) number(ctx context.Context) (int64, bool) {
	var n int64
	var err error
	switch s.strategy.Guard.Name {
	case "fence-memory":
		var f guard.FenceMemory
		if f, err = guard.NewFenceMemory(s.keeper); err == nil {
			n, err = f.Last(ctx, 0)
		}
	case "fence-redis":
		n, err = s.Servers.Redis(0).Get(ctx, guard.FenceRedis{}.Key(s.name, 0)).Int64()
		if errors.Is(err, redis.Nil) {
			err = nil
		}
	case "fence-unlogged":
		err = s.store.QueryRow(ctx, `SELECT coalesce(max(last_fence), 0) FROM fence WHERE id = 0`).Scan(&n)
	default:
		err = s.store.QueryRow(ctx, `SELECT last_fence FROM config WHERE id = 0`).Scan(&n)
	}
	return n, err == nil
}
