package workloads_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/internal/await"
)

// storeBreaks: after a system error inside the store nobody knows what became of
// the write, and the connection is not used again.
func storeBreaks(t *testing.T, s *scene) {
	a := s.start(t, "w1", 30*time.Second, workloads.AfterRead)
	a.at(t, workloads.AfterRead)
	before := s.backend(t, "w1")
	s.admin(t, `CREATE FUNCTION breaks() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'the disk is gone' USING ERRCODE = 'io_error'; END $$;
		CREATE TRIGGER breaks BEFORE UPDATE OF payload ON config EXECUTE FUNCTION breaks()`)
	a.Go(nil)
	a.at(t, workloads.AfterRead)
	if after := s.backend(t, "w1"); after == before {
		t.Error("it goes on with the same connection")
	}
	s.admin(t, `DROP FUNCTION breaks CASCADE`)
	a.end(t)
	wantOps(t, s.history(t), "w1",
		"acquire ok", "claim ok", "write info", "release ok",
		"acquire ok", "claim ok", "write ok", "release ok")
}

// backend is the process of the store that serves a worker.
func (s *scene) backend(t *testing.T, worker string) (pid int) {
	t.Helper()
	conn, err := pgx.Connect(soon(t), s.PostgresDSN())
	must(t, err)
	defer conn.Close(context.Background())
	await.That(t, "one connection of "+worker, func() bool {
		return conn.QueryRow(soon(t), `SELECT pid FROM pg_stat_activity WHERE application_name = $1
			AND (SELECT count(*) FROM pg_stat_activity WHERE application_name = $1) = 1`, s.cell+"/"+worker).Scan(&pid) == nil
	})
	return pid
}

// lockUnanswered: whether the lock was taken is unknown. The client goes on as
// another process, without a grant.
func lockUnanswered(t *testing.T, s *scene) {
	must(t, s.Redis[0].Stop(soon(t)))
	a := s.start(t, "w1", 300*time.Millisecond)
	unknown := func() bool { return slices.Contains(of(s.merge(t, s.parts), "w1"), "acquire info") }
	await.That(t, "an unknown outcome", func() bool { return unknown() })
	must(t, s.Redis[0].Continue(soon(t)))
	await.That(t, "a write", func() bool { return a.saw(history.Write, history.OK) > 0 })
	a.end(t)
	h := s.history(t)
	before := h.Operations[0]
	for _, op := range h.Operations[1:] {
		if before.Worker == op.Worker && (before.Outcome == history.Info) == (before.Process == op.Process) {
			t.Errorf("%s after %s %s: the process is %s after %s", op.Kind, before.Kind, before.Outcome, op.Process, before.Process)
		}
		before = op
	}
}

// lockRefused: nothing happened for certain, so the client stays who it is.
func lockRefused(t *testing.T, s *scene) {
	must(t, s.Redis[0].Kill(soon(t)))
	t.Cleanup(func() {
		if s.Redis[0].State() == cluster.Killed {
			must(t, s.Redis[0].Restart(soon(t)))
		}
	})
	a := s.start(t, "w1", 30*time.Second)
	await.That(t, "a refusal", func() bool { return slices.Contains(of(s.merge(t, s.parts), "w1"), "acquire fail") })
	must(t, s.Redis[0].Restart(soon(t)))
	await.That(t, "a write", func() bool { return a.saw(history.Write, history.OK) > 0 })
	a.end(t)
	for _, op := range s.history(t).Operations {
		if op.Worker != "" && op.Process != "w1/r00#1" {
			t.Errorf("%s is of process %s", op.Kind, op.Process)
		}
	}
}

// killedInWrite: the write was sent, and nobody will ever answer. Its grant is
// finished: nothing is written under it any more, by whatever process.
func killedInWrite(t *testing.T, s *scene) {
	a := s.start(t, "w1", 30*time.Second, workloads.AfterRead)
	a.at(t, workloads.AfterRead)
	await.Read(t, s.Postgres.Addr)
	must(t, s.Postgres.Stop(soon(t)))
	a.Disarm()
	a.Go(nil)
	await.Sent(t, s.Postgres.Addr, 1)
	must(t, s.Postgres.Kill(soon(t)))
	must(t, s.Postgres.Restart(soon(t)))
	await.That(t, "a later write", func() bool { return a.saw(history.Write, history.OK) > 0 })
	a.end(t)
	h := s.history(t)

	at := slices.IndexFunc(h.Operations, func(op history.Operation) bool { return op.Outcome == history.Info })
	if at < 0 || h.Operations[at].Kind != history.Write || h.Operations[at].Process != "w1/r00#1" {
		t.Fatalf("no write is unknown: %q", of(h, "w1"))
	}
	unknown := h.Operations[at]
	if next := h.Operations[at+1]; next.Kind != history.Release || next.Grant != unknown.Grant || next.Outcome != history.OK {
		t.Errorf("after the unknown write came %+v", next)
	}
	for _, op := range h.Operations[at+1:] {
		if op.Worker != "" && op.Process != "w1/r00#2" {
			t.Errorf("%s %s is of process %s", op.Kind, op.ID, op.Process)
		}
		if op.Kind == history.Write && op.Grant == unknown.Grant {
			t.Errorf("write %s under the grant of the unknown one", op.ID)
		}
	}
	if n := a.saw(history.Write, history.Info); n != 1 {
		t.Errorf("%d unknown writes were told", n)
	}
}
