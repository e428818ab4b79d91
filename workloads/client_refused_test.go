package workloads_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/guard"
)

func lostAtCheck(t *testing.T, s *scene) {
	a := s.start(t, "w1", 30*time.Second, workloads.AfterRead)
	a.at(t, workloads.AfterRead)
	r := redis.NewClient(&redis.Options{Addr: s.Redis[0].Addr, Password: s.Redis[0].Password})
	defer r.Close()
	if n, err := r.Del(soon(t), s.key()).Result(); err != nil || n != 1 {
		t.Fatalf("no lock to take away: %v", err)
	}
	a.end(t)
	wantOps(t, s.history(t), "w1", "acquire ok", "read ok", "check lost", "release lost")
}

func fencedOff(t *testing.T, s *scene) {
	a := s.start(t, "w1", 30*time.Second, workloads.AfterRead)
	a.at(t, workloads.AfterRead)
	s.admin(t, `UPDATE config SET last_fence = 1000000`)
	a.end(t)
	wantOps(t, s.history(t), "w1", "acquire ok", "read ok", "write rejected", "read ok", "release ok")
}

func claimedOff(t *testing.T, s *scene) {
	a := s.start(t, "w1", 30*time.Second, workloads.AfterAcquire)
	a.at(t, workloads.AfterAcquire)
	s.admin(t, `UPDATE config SET last_fence = 1000000`)
	a.end(t)
	wantOps(t, s.history(t), "w1", "acquire ok", "claim rejected", "read ok", "release ok")
}

func rowMissing(t *testing.T, s *scene) {
	a := s.start(t, "w1", 30*time.Second, workloads.AfterAcquire)
	a.at(t, workloads.AfterAcquire)
	s.admin(t, `UPDATE config SET id = 1`)
	a.end(t)
	s.admin(t, `UPDATE config SET id = 0`)
	h := s.history(t)
	wantOps(t, h, "w1", "acquire ok", "claim rejected", "read fail", "release ok")
	if e := h.Operations[2].Error; !strings.Contains(e, guard.ErrMissing.Error()) {
		t.Errorf("the read says %q", e)
	}
}
