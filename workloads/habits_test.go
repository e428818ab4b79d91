package workloads_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/internal/await"
)

// takeAway deletes the lock's key under its holder.
func (s *scene) takeAway(t *testing.T) {
	t.Helper()
	r := redis.NewClient(&redis.Options{Addr: s.Redis[0].Addr, Password: s.Redis[0].Password})
	defer r.Close()
	if n, err := r.Del(soon(t), s.key()).Result(); err != nil || n != 1 {
		t.Fatalf("no lock to take away: %v", err)
	}
}

// did lists what a worker has been answered so far.
func (s *scene) did(t *testing.T, worker string) []string {
	t.Helper()
	return slices.DeleteFunc(of(s.merge(t, s.parts), worker), func(op string) bool { return op == "acquire fail" })
}

// oldContent: the refused client takes the lock again and writes what it had
// computed before, which overwrites what it has not read.
func oldContent(t *testing.T, s *scene) {
	a := s.start(t, "w1", 30*time.Second, workloads.AfterRead)
	a.at(t, workloads.AfterRead)
	s.admin(t, `UPDATE config SET last_fence = $1`, s.merge(t, s.parts).Operations[0].Token+1)
	a.Go(nil)
	await.That(t, "an accepted write", func() bool { return a.saw(history.Write, history.OK) == 1 })
	a.at(t, workloads.AfterRead)
	a.end(t)
	h := s.history(t)
	want := []string{"acquire ok", "read ok", "write rejected", "read ok", "release ok", "acquire ok", "write ok", "release ok"}
	if got := of(h, "w1"); !slices.Equal(got[:len(want)], want) {
		t.Fatalf("it did %q, want %q", got, want)
	}
	first, again := h.Operations[2], h.Operations[6]
	if first.Basis != again.Basis || first.WriteID == again.WriteID || again.Token <= first.Token {
		t.Errorf("the first write is %+v, the second %+v", first, again)
	}
}

// renewalLost takes the lock away and waits until the renewal has been told.
func renewalLost(t *testing.T, s *scene) *actor {
	t.Helper()
	a := s.start(t, "w1", 30*time.Second, workloads.AfterRead)
	a.at(t, workloads.AfterRead)
	s.takeAway(t)
	await.That(t, "a renewal that finds the lock lost", func() bool { return slices.Contains(s.did(t, "w1"), "renew lost") })
	a.end(t)
	return a
}

func lostAtLook(t *testing.T, s *scene) {
	renewalLost(t, s)
	wantOps(t, s.history(t), "w1", "acquire ok", "read ok", "renew lost", "release lost")
}

func lostAndIgnored(t *testing.T, s *scene) {
	renewalLost(t, s)
	h := s.history(t)
	wantOps(t, h, "w1", "acquire ok", "read ok", "renew lost", "write ok", "release lost")
	if renew, acquire := h.Operations[2], h.Operations[0]; renew.Grant != acquire.ID || renew.Client != acquire.Client || renew.Process == acquire.Process {
		t.Errorf("the renewal is recorded as %+v under %+v", renew, acquire)
	}
}

// handedOverTooLate: nobody has kept the lease alive, so nothing is written.
func handedOverTooLate(t *testing.T, s *scene) {
	var handed, back []string
	s.prepare = func(c *workloads.Client) {
		c.HandOver = func(h workloads.Held) bool { handed = append(handed, h.Grant); return false }
		c.TakeBack = func(h workloads.Held) { back = append(back, h.Grant) }
	}
	a := s.start(t, "w1", 30*time.Second, workloads.BeforeRelease)
	a.at(t, workloads.BeforeRelease)
	a.end(t)
	h := s.history(t)
	wantOps(t, h, "w1", "acquire ok", "read ok", "release ok")
	if want := []string{h.Operations[0].ID}; !slices.Equal(handed, want) || !slices.Equal(back, want) {
		t.Errorf("handed over were %q and taken back %q, want %q", handed, back, want)
	}
}

// leftAlone: the transaction that the read began ends although nothing is written.
func leftAlone(t *testing.T, s *scene) {
	a := s.start(t, "w1", 30*time.Second, workloads.AfterRead, workloads.BeforeRelease)
	a.at(t, workloads.AfterRead)
	if got := s.backendState(t, "w1"); got != "idle in transaction" {
		t.Errorf("after the read it is %q", got)
	}
	s.takeAway(t)
	a.Go(nil)
	a.at(t, workloads.BeforeRelease)
	if got := s.backendState(t, "w1"); got != "idle" {
		t.Errorf("after the update was given up it is %q", got)
	}
	a.end(t)
	wantOps(t, s.history(t), "w1", "acquire ok", "read ok", "check lost", "release lost")
}

// backendState is what the store says of a worker's session.
func (s *scene) backendState(t *testing.T, worker string) (state string) {
	t.Helper()
	pid := s.backend(t, worker)
	conn, err := pgx.Connect(soon(t), s.PostgresDSN())
	must(t, err)
	defer conn.Close(context.Background())
	must(t, conn.QueryRow(soon(t), `SELECT state FROM pg_stat_activity WHERE pid = $1`, pid).Scan(&state))
	return state
}
