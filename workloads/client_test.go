package workloads_test

import (
	"slices"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/cluster/clustertest"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/internal/await"
)

func TestClient(t *testing.T) {
	c := clustertest.Start(t, cluster.Spec{Redis: 5, Etcd: 1, Postgres: true})
	for _, strategy := range workloads.Strategies {
		if strategy.Name == "no-lock" || strategy.Name == "fence-next" {
			continue // which lose updates, or accept none, without being disturbed
		}
		t.Run("undisturbed/"+strategy.Name, func(t *testing.T) { undisturbed(t, open(t, c, strategy.Name)) })
	}
	for _, d := range []struct {
		name, strategy string
		test           func(*testing.T, *scene)
	}{
		{"every point", "setnx-check", everyPoint},
		{"the end comes in the middle of an update", "setnx", endInTheMiddle},
		{"the end comes while it waits for the lock", "setnx", endWhileWaiting},
		{"the lock was lost before the check", "setnx-check", lostAtCheck},
		{"a newer grant has written", "etcd-fenced", fencedOff},
		{"a newer grant has claimed", "etcd-claim", claimedOff},
		{"refused, then the old content again", "retry-old-content", oldContent},
		{"the lease was lost before the look", "setnx-renew", lostAtLook},
		{"the lease was lost, and ignored", "setnx-renew-ignore", lostAndIgnored},
		{"the renewer came too late", "setnx-renew-outside", handedOverTooLate},
		{"nothing is left open", "redis-setnx+row-lock+check", leftAlone},
		{"the row is missing", "etcd-claim", rowMissing},
		{"the store breaks in a write", "etcd-claim", storeBreaks},
		{"the lock's server does not answer", "setnx", lockUnanswered},
		{"nobody answers as to the lock", "setnx", lockRefused},
		{"the store is killed in mid-write", "etcd-claim", killedInWrite}, // the last one: it restarts the store
	} {
		t.Run(d.name, func(t *testing.T) { d.test(t, open(t, c, d.strategy)) })
	}
}

// undisturbed: two clients update one row, each as its strategy has it, and
// nothing is lost.
func undisturbed(t *testing.T, s *scene) {
	one, two := s.start(t, "w1", 30*time.Second), s.start(t, "w2", 30*time.Second)
	const each = 3
	await.That(t, "writes of both", func() bool {
		return one.saw(history.Write, history.OK) >= each && two.saw(history.Write, history.OK) >= each
	})
	one.end(t)
	two.end(t)
	h := s.history(t)

	cycle := []string{"acquire ok", "read ok", "write ok", "release ok"}
	switch {
	case s.strategy.Guard.Claims:
		cycle[1] = "claim ok"
	case s.strategy.Check:
		cycle = []string{"acquire ok", "read ok", "check ok", "write ok", "release ok"}
	case s.strategy.Locker.Draws:
		cycle = []string{"acquire ok", "read ok", "draw ok", "write ok", "release ok"}
	case !s.strategy.Locked():
		cycle = []string{"read ok", "write ok"}
	}
	for _, a := range []*actor{one, two} {
		var done []string
		for _, op := range of(h, a.Worker) {
			if op != "acquire fail" { // a refused attempt
				done = append(done, op)
			}
		}
		if s.strategy.Locked() {
			for i := range done {
				if done[i] != cycle[i%len(cycle)] {
					t.Fatalf("%s did %q, want %q again and again", a.Worker, done, cycle)
				}
			}
			if len(done)%len(cycle) != 0 {
				t.Errorf("%s ended in the middle: %q", a.Worker, done)
			}
		}
		if got, want := s.document(t).Fields[a.Worker+"/"+resource], a.saw(history.Write, history.OK); got != want {
			t.Errorf("%s has written %d times, its field says %d", a.Worker, want, got)
		}
	}
	checkOperations(t, s, h)
}

// checkOperations looks at what a judge needs of each operation.
func checkOperations(t *testing.T, s *scene, h *history.History) {
	t.Helper()
	grants, tokens := map[string]history.Operation{}, int64(0)
	for _, op := range h.Operations {
		switch {
		case op.Worker == "":
		case op.Kind == history.Acquire && op.Outcome == history.OK:
			grants[op.ID] = op
			latest := op.Call
			if s.strategy.Name == "setnx-expire" { // whose lease begins with the second command
				latest = op.Return
			}
			if s.strategy.Locker.LeaseBy != "" && op.LeaseTTL != int64(ttl) || op.LeaseCall > latest {
				t.Errorf("acquire %s: lease of %d, called at %d, the attempt at %d", op.ID, op.LeaseTTL, op.LeaseCall, op.Call)
			}
			if s.strategy.Locker.Draws {
				continue
			}
			if (op.Token > 0) != s.strategy.Locker.Tokens || s.strategy.Locker.Tokens && op.Token <= tokens {
				t.Errorf("acquire %s has the token %d after %d", op.ID, op.Token, tokens)
			}
			tokens = op.Token
		case op.Kind == history.Draw:
			if op.Token <= tokens {
				t.Errorf("draw %s has the token %d after %d", op.ID, op.Token, tokens)
			}
			tokens = op.Token
			g := grants[op.Grant]
			g.Token = op.Token
			grants[op.Grant] = g
		case op.Kind == history.Write:
			if op.WriteID != op.ID || op.Token != grants[op.Grant].Token {
				t.Errorf("write %s: id %s, token %d, its grant's is %d", op.ID, op.WriteID, op.Token, grants[op.Grant].Token)
			}
		}
		if s.strategy.Locked() && op.Worker != "" && op.Kind != history.Acquire && op.Grant == "" {
			t.Errorf("%s %s has no grant", op.Kind, op.ID)
		}
	}
	if s.strategy.Locked() != (len(grants) > 0) {
		t.Errorf("%d grants", len(grants))
	}
}

// everyPoint: the client waits at each point of its own in turn, and what it does
// behind a point is stamped behind it. The others lie in the network, or where a
// token is drawn.
func everyPoint(t *testing.T, s *scene) {
	points := []string{workloads.AcquireMid, workloads.AfterAcquire, workloads.AfterRead, workloads.AfterCheck, workloads.BeforeRelease}
	a := s.start(t, "w1", 30*time.Second, points...)
	left := map[string]int64{}
	for _, point := range points {
		a.at(t, point)
		left[point] = history.Now()
		if point == workloads.BeforeRelease {
			a.finish()
			a.Disarm()
		}
		a.Go(nil)
	}
	a.end(t)
	h := s.history(t)
	wantOps(t, h, "w1", "acquire ok", "read ok", "check ok", "write ok", "release ok")
	for i, behind := range map[int]string{1: workloads.AfterAcquire, 2: workloads.AfterRead, 3: workloads.AfterCheck, 4: workloads.BeforeRelease} {
		if op := h.Operations[i]; op.Call < left[behind] || h.Operations[i-1].Return > left[behind] {
			t.Errorf("%s was called at %d, the one before returned at %d, and %s was left at %d", op.Kind, op.Call, h.Operations[i-1].Return, behind, left[behind])
		}
	}
	if acquire, mid := h.Operations[0], left[workloads.AcquireMid]; acquire.Call > mid || acquire.Return < mid {
		t.Errorf("the acquire is [%d,%d], and its middle was left at %d", acquire.Call, acquire.Return, mid)
	}
	arrived, gone := 0, 0
	for _, e := range h.Events {
		if e.Type == history.TypeLeave {
			gone++
			if e.Time < left[e.Point] {
				t.Errorf("%s is said to be left before the word", e.Point)
			}
		}
		if e.Type == history.TypeWant {
			arrived++
		}
	}
	if gone != len(points) || arrived != 1 {
		t.Errorf("%d points left, %d times the lock was wanted", gone, arrived)
	}
}

func endInTheMiddle(t *testing.T, s *scene) {
	a := s.start(t, "w1", 30*time.Second, workloads.AfterRead)
	a.at(t, workloads.AfterRead)
	a.end(t) // and lets it go on
	wantOps(t, s.history(t), "w1", "acquire ok", "read ok", "write ok", "release ok")
}

func endWhileWaiting(t *testing.T, s *scene) {
	holder := s.start(t, "w1", 30*time.Second, workloads.AfterRead)
	holder.at(t, workloads.AfterRead)
	waiter := s.start(t, "w2", 30*time.Second)
	await.That(t, "a refused attempt", func() bool { return slices.Contains(of(s.merge(t, s.parts[1:]), "w2"), "acquire fail") })
	waiter.end(t)
	holder.end(t)
	h := s.history(t)
	for _, op := range of(h, "w2") {
		if op != "acquire fail" {
			t.Errorf("the waiter did %s", op)
		}
	}
	if !slices.ContainsFunc(h.Events, func(e history.Event) bool { return e.Type == history.TypeGiveUp && e.Worker == "w2" }) {
		t.Error("that it gave up is not recorded")
	}
}
