package workloads_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/cluster/clustertest"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/guard"
	"github.com/torture-harness/torture/workloads/internal/await"
	"github.com/torture-harness/torture/workloads/lock"
)

const resource = "r00"

// scene is real servers with one row, and the history of who works on it.
type scene struct {
	*cluster.Cluster
	cell     string
	strategy workloads.Strategy
	parts    []string
	dir      string
	prepare  func(*workloads.Client) // changes a client before it begins
}

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

// open makes a fresh row, and keys of its own.
func open(t *testing.T, c *cluster.Cluster, strategy string) *scene {
	t.Helper()
	found, err := workloads.Find(strategy)
	must(t, err)
	s := &scene{Cluster: c, cell: t.Name(), strategy: found, dir: t.TempDir()}
	tables := found.Guard.Tables()
	s.admin(t, `DROP SCHEMA public CASCADE; CREATE SCHEMA public; `+tables.Create)
	s.admin(t, tables.Row, 0, []byte(`{"write_id": "init", "fields": {}}`))
	return s
}

func (s *scene) admin(t *testing.T, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(soon(t), s.PostgresDSN())
	must(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(soon(t), sql, args...)
	must(t, err)
}

func (s *scene) document(t *testing.T) guard.Document {
	t.Helper()
	conn, err := pgx.Connect(soon(t), s.PostgresDSN())
	must(t, err)
	defer conn.Close(context.Background())
	entry, err := guard.Read(soon(t), conn, 0)
	must(t, err)
	return entry.Document
}

// actor is a client that runs, and what it told.
type actor struct {
	*workloads.Client
	*stop
	finish context.CancelFunc
	ended  chan struct{}

	mu   sync.Mutex
	told []workloads.Progress
}

const ttl = 20 * time.Second // longer than any test: nothing ends by itself

// start lets a client work, with patience for each request.
func (s *scene) start(t *testing.T, worker string, patience time.Duration, points ...string) *actor {
	t.Helper()
	part := filepath.Join(s.dir, worker+".jsonl")
	recorder, err := history.NewRecorder(part)
	must(t, err)
	s.parts = append(s.parts, part)
	places := workloads.Places{Postgres: s.PostgresDSN(), Etcd: s.EtcdEndpoints()}
	for _, r := range s.Redis {
		places.Redis = append(places.Redis, lock.Server{Addr: r.Addr, Password: r.Password})
	}
	var locker lock.Locker
	if s.strategy.Locked() {
		locker, err = s.strategy.Locker.New(places, workloads.LockerOptions{
			Prefix: s.cell, TTL: ttl, Patience: patience, Clients: 1, Jitter: lock.NewJitter(1, uint64(worker[1]))})
		must(t, err)
	}
	a := &actor{stop: newStop(), ended: make(chan struct{})}
	for _, point := range points {
		a.Arm(point, nil)
	}
	var ids atomic.Int64 // a renewal draws them too
	a.Client = &workloads.Client{
		Worker: worker, Resource: resource, Row: 0, Key: s.key(), Strategy: s.strategy, Locker: locker,
		Store: &workloads.Store{DSN: places.Postgres, Name: s.cell + "/" + worker},
		Pace:  workloads.Pace{Think: time.Millisecond, Idle: 10 * time.Millisecond}, Patience: patience,
		Rand: rand.New(rand.NewPCG(1, uint64(worker[1]))),
		Hooks: workloads.Hooks{
			NewID:  func() string { return fmt.Sprintf("%s-%d", worker, ids.Add(1)) },
			Record: func(e history.Event) { must(t, recorder.Write(e)) },
			Points: a.Breakpoints,
			Progress: func(p workloads.Progress) {
				a.mu.Lock()
				defer a.mu.Unlock()
				a.told = append(a.told, p)
			},
		},
	}
	if s.prepare != nil {
		s.prepare(a.Client)
	}
	ctx, finish := context.WithCancel(context.Background())
	a.finish = finish
	go func() {
		defer close(a.ended)
		a.Run(ctx)
	}()
	t.Cleanup(func() {
		finish()
		a.Abandon()
		<-a.ended
		must(t, recorder.Close())
		if locker != nil {
			must(t, locker.Close())
		}
	})
	return a
}

func (s *scene) key() string { return s.cell + "/" + resource }

// end lets the client finish, and waits for it.
func (a *actor) end(t *testing.T) {
	t.Helper()
	a.finish()
	a.Abandon()
	select {
	case <-a.ended:
	case <-time.After(30 * time.Second):
		t.Fatal("the client does not end")
	}
}

// at returns once the client waits at a point.
func (a *actor) at(t *testing.T, point string) {
	t.Helper()
	select {
	case got := <-a.arrived:
		if want := [3]string{point, a.Worker + "/" + resource, resource}; got != want {
			t.Fatalf("it waits at %v, want %v", got, want)
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("it does not come to %s", point)
	}
}

// saw counts what the client told of.
func (a *actor) saw(kind history.Kind, outcome history.Outcome) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, p := range a.told {
		if p.Kind == kind && p.Outcome == outcome {
			n++
		}
	}
	return n
}

// history is everything recorded, with a last look at the row; valid.
func (s *scene) history(t *testing.T) *history.History {
	t.Helper()
	last := filepath.Join(s.dir, "observer.jsonl")
	recorder, err := history.NewRecorder(last)
	must(t, err)
	call := history.Now()
	seen := s.document(t).WriteID
	must(t, recorder.Write(history.Event{Type: history.TypeInvoke, Time: call, Op: "obs-1", Process: history.Observer, Resource: resource, Kind: history.Read}))
	must(t, recorder.Write(history.Event{Type: history.TypeComplete, Time: history.Now(), Op: "obs-1", Outcome: history.OK, WriteID: seen}))
	must(t, recorder.Close())
	h := s.merge(t, append(s.parts, last))
	must(t, h.Validate())
	return h
}

func (s *scene) merge(t *testing.T, parts []string) *history.History {
	t.Helper()
	var merged bytes.Buffer
	header := history.Header{Run: s.cell, Strategy: s.strategy.Name, Fault: "none", Resources: []string{resource}, TTL: int64(ttl)}
	warnings, err := history.Merge(&merged, header, parts...)
	must(t, err)
	if len(warnings) > 0 {
		t.Error(warnings)
	}
	h, err := history.Parse(&merged, "history.jsonl")
	must(t, err)
	return h
}

// of lists the operations of one worker as "kind outcome".
func of(h *history.History, worker string) []string {
	var ops []string
	for _, op := range h.Operations {
		if op.Worker == worker {
			ops = append(ops, string(op.Kind)+" "+string(op.Outcome))
		}
	}
	return ops
}

func wantOps(t *testing.T, h *history.History, worker string, want ...string) {
	t.Helper()
	if got := of(h, worker); !slices.Equal(got, want) {
		t.Fatalf("%s did %q, want %q", worker, got, want)
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
