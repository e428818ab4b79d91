package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
	"github.com/torture-harness/torture/harness/store"
	"github.com/torture-harness/torture/harness/worker"
	"github.com/torture-harness/torture/nemesis"
	"github.com/torture-harness/torture/workloads"
)

// cell is one strategy under one fault while it runs.
type cell struct {
	run      *Runner
	plan     CellPlan
	strategy workloads.Strategy
	fault    nemesis.Fault
	dir      string // of its files
	name     string // unique among all runs: schema, key prefix, connection names

	recorder *history.Recorder
	store    *store.Store
	fleet    *worker.Fleet
	network  *network // nil if the clients reach PostgreSQL directly
	tally    *tally

	mu     sync.Mutex
	broken error // the history has a hole
}

// Files of a cell.
const (
	planFile    = "plan.json"
	historyFile = "history.jsonl"
	journalFile = "journal.jsonl"
	resultFile  = "result.json"
)

func (c *cell) path(name ...string) string { return filepath.Join(append([]string{c.dir}, name...)...) }

// record keeps an event of the harness itself: faults, workers, the observer.
func (c *cell) record(e history.Event) {
	if e.Fault != nil {
		c.tally.fault(e)
	}
	if err := c.recorder.Write(e); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.broken = errors.Join(c.broken, err)
	}
}

// execute runs the cell and saves its whole history. It judges nothing.
func (c *cell) execute(ctx context.Context) (err error) {
	for _, dir := range []string{c.path("parts"), c.path("logs")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := SaveJSON(c.path(planFile), c.plan); err != nil {
		return err
	}
	if c.recorder, err = history.NewRecorder(c.path("parts", "harness.jsonl")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.recorder.Close(), c.broken, c.merge()) }()
	if c.store, err = store.Open(ctx, store.Rows{Postgres: c.run.places.Postgres, Etcd: c.strategy.Guard.Documents(c.run.places),
		Schema: c.name, Resources: c.plan.Resources, Tables: c.strategy.Guard.Tables()}); err != nil {
		return err
	}
	defer c.store.Close()
	o, err := c.store.Observe(ctx, c.record, c.plan.TTL/40)
	if err != nil {
		return err
	}
	defer o.Close()

	setup := worker.Setup{Cell: c.name, Strategy: c.strategy.Name, Places: c.run.places, Resources: c.plan.Resources,
		TTL: c.plan.TTL, Patience: patience(c.plan.TTL), Pace: workloads.Pace{Think: c.run.plan.Think, Idle: c.run.plan.Idle},
		Seed: uint64(c.plan.Seed)}
	setup.Places.Postgres = store.WithSchema(c.run.places.Postgres, c.name)
	if c.plan.Fault == workloads.FaultDelayWrite {
		if c.network, setup.Places.Postgres, err = openNetwork(setup.Places.Postgres, c.name); err != nil {
			return err
		}
		defer c.network.close()
	}
	if c.fleet, err = worker.NewFleet(setup, c.path("parts"), c.path("logs"), c.told, c.record); err != nil {
		return err
	}
	defer func() { // nothing to do after a good end; kills also what is stopped
		clean, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		c.fleet.Destroy(clean)
	}()
	starting, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := c.fleet.Start(starting, c.plan.Workers); err != nil {
		return err
	}
	if err := c.work(ctx, o); err != nil {
		return err
	}
	return c.final(o)
}

// told tells the guardian of a worker.
func (c *cell) told(pid int, start uint64) error { return c.run.guardian.Process(pid, start, "worker") }

// patience is the deadline of one request: longer than the longest pause.
func patience(ttl time.Duration) time.Duration { return max(30*time.Second, 10*ttl) }

const startPatience = 60 * time.Second

// work lets clients and nemesis loose until there is enough, heals, and ends
// the clients.
func (c *cell) work(ctx context.Context, o *store.Observer) error {
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer stop()
	watchers.Go(func() { worker.WatchStalls(background, "", c.record) })
	watchers.Go(func() { watchClock(background, c.record) })
	observed := make(chan error, 1)
	watchers.Go(func() { observed <- o.Watch(background) })

	defer c.fleet.Listen(c.tally.add)()
	before, err := cpuTicks()
	if err != nil {
		return err
	}
	enough := make(chan struct{})
	arena := &nemesis.Arena{Processes: c.fleet, Points: c.fleet, Watcher: c.fleet, Record: c.record,
		Servers:   &servers{cluster: c.run.servers, needs: c.strategy.Locker.Needs},
		Resources: c.plan.Resources, Point: c.plan.Point, TTL: c.plan.TTL, Seed: uint64(c.plan.Seed), Enough: enough}
	if c.network != nil {
		arena.Wire = c.network
	}
	begun := time.Now()
	if err := c.fleet.Begin(); err != nil {
		return err
	}
	failing, abort := context.WithCancel(ctx)
	defer abort()
	done := make(chan error, 1)
	go func() { done <- c.fault.Run(failing, arena) }()

	err = c.until(ctx, enough, begun, done, observed)
	abort()
	if err == nil && ctx.Err() == nil {
		err = c.takeable(ctx)
	}
	after, tickErr := cpuTicks()
	c.record(history.Event{Type: history.TypeLoad, Time: history.Now(), Busy: busyPercent(before, after)})
	if err != nil {
		return err
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience(c.plan.TTL))
	defer cancel()
	return errors.Join(c.fleet.Finish(ending), tickErr)
}

// longest is how many times its least length a cell may take to collect its
// exposures; on a busy machine a fault finds fewer at a time.
const longest = 8

// until closes enough when the cell has run its time and has its exposures, and
// returns when the nemesis has healed everything.
func (c *cell) until(ctx context.Context, enough chan struct{}, begun time.Time, done, observed <-chan error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	open := true
	end := func() {
		if open {
			close(enough)
			open = false
		}
	}
	defer end()
	for {
		select {
		case err := <-done:
			if ctx.Err() != nil {
				return nil // interrupted: healed, and what there is will be judged
			}
			return err
		case err := <-c.fleet.Failed():
			end()
			<-done
			return c.cause(err)
		case err := <-observed:
			end()
			<-done
			if err == nil {
				err = errors.New("the observer ended by itself")
			}
			return c.cause(err)
		case err := <-c.run.servers.Failed():
			c.run.broken = err
			end()
			<-done
			return err
		case <-ctx.Done():
			end()
		case <-tick.C:
			ran := time.Since(begun)
			if ran >= c.plan.Duration && c.sufficient() || ran >= longest*c.plan.Duration {
				end()
			}
		}
	}
}

// cause is why a part of the cell failed: the end of a server, if there was
// one, for which everything else is only a sign.
func (c *cell) cause(err error) error {
	select {
	case c.run.broken = <-c.run.servers.Failed():
		return c.run.broken
	case <-time.After(serverNews):
		return err
	}
}

// serverNews is how long the news of a server's end may take.
const serverNews = 500 * time.Millisecond

// sofar is what people are told while it runs.
func (c *cell) sofar() (writes, late int) { return c.tally.written(), c.tally.lateWrites() }

// sufficient reports whether the exposures of a fault by pauses or delays
// suffice, with a margin for those that the exact count will not confirm, and whether a lost
// update that the contract predicts had its occasions.
func (c *cell) sufficient() bool {
	switch c.plan.Fault {
	case workloads.FaultPauseHolder, workloads.FaultPauseRandom, workloads.FaultDelayWrite:
		return c.tally.lateWrites() >= c.plan.Exposures+c.plan.Exposures/10 &&
			(c.plan.Contract[checkers.RMWAtomic] != checkers.Predicted || c.tally.lostUpdates() >= enoughLost)
	case workloads.FaultPauseServer:
		kinds := len((&servers{needs: c.strategy.Locker.Needs}).Kinds())
		// Every resource is handed over about once around a pause.
		exposures := c.tally.serverPauses() * len(c.plan.Resources)
		return c.tally.serverPauses() >= enoughPauses*kinds && exposures >= c.plan.Exposures+c.plan.Exposures/10
	}
	return true
}

// enoughPauses is how often each kind of server is stopped at least.
const enoughPauses = 2

// enoughLost is how many lost updates a cell waits for if they are predicted.
const enoughLost = 3

// takeable lets the healed cell go on until every lock has been granted once
// more, or for the 5 leases after which `progress` calls it untakeable.
func (c *cell) takeable(ctx context.Context) error {
	healed := history.Now()
	limit := time.NewTimer(5*c.plan.TTL + c.plan.TTL/2)
	defer limit.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !c.tally.grantedSince(healed, c.plan.Resources) {
		select {
		case err := <-c.fleet.Failed():
			return err
		case <-limit.C:
			return nil // the checkers will see it
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
	return nil
}

// final waits until no statement of a client can arrive any more, reads every
// row once more, and saves the journal.
func (c *cell) final(o *store.Observer) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := c.store.Quiesce(ctx, c.name+"/"); err != nil {
		return err
	}
	if err := o.Read(ctx); err != nil {
		return err
	}
	entries, err := c.store.Journal(ctx)
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	if err := history.WriteJournal(c.path(journalFile), entries); err != nil {
		return err
	}
	return c.store.Drop(ctx)
}

// merge makes one history of all parts. The parts are kept if that fails.
func (c *cell) merge() error {
	parts, err := filepath.Glob(c.path("parts", "*.jsonl"))
	if err != nil {
		return err
	}
	f, err := os.Create(c.path(historyFile))
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := history.Merge(f, c.header(), parts...); err != nil {
		return fmt.Errorf("merge the history: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("save the history: %w", err)
	}
	return os.RemoveAll(c.path("parts"))
}

func (c *cell) header() history.Header {
	host, _ := os.Hostname() // only for people
	var workers []string
	if c.fleet != nil {
		workers = c.fleet.All()
	}
	return history.Header{Schema: history.Schema, Run: c.run.id, Strategy: c.strategy.Name, Fault: c.plan.Fault,
		Locker: c.plan.Locker, Guard: c.strategy.Guard.Name, LeaseBy: c.strategy.Locker.LeaseBy, Tokens: c.strategy.Locker.Tokens,
		TTL: int64(c.plan.TTL), Resources: c.plan.Resources, Workers: workers, Seed: c.plan.Seed, Host: host}
}

// watchClock records, every second, how far the wall clock is from the steady one.
func watchClock(ctx context.Context, record func(history.Event)) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		record(history.Event{Type: history.TypeClock, Time: history.Now(), Offset: history.RealtimeOffset()})
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// judge judges the saved files of a cell, and nothing else.
func (c *cell) judge(ctx context.Context, executed error) result.Cell {
	out, err := JudgeCell(ctx, c.dir)
	saveCounterexamples(c.dir, &out)
	if executed != nil {
		err = executed // why there is nothing right to judge
	}
	switch {
	case err != nil && out.Status != checkers.Failed:
		out.Status = checkers.Errored
		out.Reasons = append([]string{OneLine(err)}, out.Reasons...)
	case err != nil:
		out.Reasons = append(out.Reasons, OneLine(err))
	}
	return out
}

// SaveJSON writes a value as indented JSON.
func SaveJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
