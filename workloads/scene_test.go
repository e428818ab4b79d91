package workloads_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/guard"
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

// open makes a fresh row, and keys of its own.
func open(t *testing.T, c *cluster.Cluster, strategy string) *scene {
	t.Helper()
	found, err := workloads.Find(strategy)
	must(t, err)
	s := &scene{Cluster: c, cell: t.Name(), strategy: found, dir: t.TempDir()}
	tables := found.Guard.Tables()
	s.admin(t, `DROP SCHEMA public CASCADE; CREATE SCHEMA public; `+tables.Create)
	const first = `{"write_id": "init", "fields": {}}`
	s.admin(t, tables.Row, 0, []byte(first))
	if s.strategy.Guard, err = found.Guard.At(s.places()); err != nil {
		t.Fatal(err)
	}
	if found.Guard.Documents(s.places()) != nil {
		_, err := s.etcd(t).Put(soon(t), guard.EtcdRow("public", 0), first)
		must(t, err)
	}
	return s
}

func (s *scene) places() workloads.Places {
	places := workloads.Places{Postgres: s.PostgresDSN(), Etcd: s.EtcdEndpoints()}
	for _, r := range s.Redis {
		places.Redis = append(places.Redis, lock.Server{Addr: r.Addr, Password: r.Password})
	}
	return places
}

func (s *scene) etcd(t *testing.T) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: s.EtcdEndpoints(), DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	must(t, err)
	t.Cleanup(func() { must(t, client.Close()) })
	return client
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
	if s.strategy.Guard.Documents(s.places()) != nil {
		entry, err = s.strategy.Guard.Guard.Enter(soon(t), conn, 0, guard.Holder{})
	}
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
	var locker lock.Locker
	if s.strategy.Locked() {
		locker, err = s.strategy.Locker.New(s.places(), workloads.LockerOptions{
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
		Store: &workloads.Store{DSN: s.PostgresDSN(), Name: s.cell + "/" + worker},
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
