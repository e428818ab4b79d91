package explore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/torture-harness/torture/harness"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/store"
	"github.com/torture-harness/torture/workloads"
)

// cell is one strategy while its schedules run.
type cell struct {
	run       *run
	plan      CellPlan
	strategy  workloads.Strategy
	dir       string   // of its files
	name      string   // unique among all runs: schema, key prefix, connection names
	resources []string // one for each schedule, and those for schedules that must be tried again
	recorder  *history.Recorder
	store     *store.Store

	mu     sync.Mutex
	broken error // the history has a hole
	spare  []string
	ran    map[string]*Ran
}

// mostTries is how often a schedule is tried that does not run as planned because
// the machine was too slow for it.
const mostTries = 4

// spares is how many resources there are for schedules that are tried again.
func spares(schedules int) int { return 16 + schedules/4 }

func (r *run) cell(n int, chosen Chosen) (*cell, error) {
	s, err := workloads.Find(chosen.Strategy)
	if err != nil {
		return nil, err
	}
	c := &cell{run: r, strategy: s, dir: filepath.Join(r.dir, "cells", s.Name), name: fmt.Sprintf("%s_e%02d", r.id, n), ran: map[string]*Ran{},
		plan: CellPlan{Schema: PlanSchema, Run: r.id, Strategy: s.Name, Seed: r.plan.Seed, Clients: r.plan.Clients, Expiry: r.plan.Expiry, TTL: r.plan.TTL,
			Contract: contractOf(s), Schedules: chosen.Schedules}}
	for i := range spares(len(chosen.Schedules)) {
		c.spare = append(c.spare, fmt.Sprintf("again-%d", i+1))
	}
	c.resources = slices.Concat(chosen.Schedules, c.spare)
	return c, nil
}

func (c *cell) path(name ...string) string { return filepath.Join(append([]string{c.dir}, name...)...) }

// record keeps an event of the harness itself.
func (c *cell) record(e history.Event) {
	if err := c.recorder.Write(e); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.broken = errors.Join(c.broken, err)
	}
}

// execute runs all schedules and saves the whole history. It judges nothing. told
// is called whenever one has been run.
func (c *cell) execute(ctx context.Context, told func(done int)) (err error) {
	for _, dir := range []string{c.path("parts"), c.path("logs")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := harness.SaveJSON(c.path("plan.json"), c.plan); err != nil {
		return err
	}
	if c.recorder, err = history.NewRecorder(c.path("parts", "harness.jsonl")); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, c.recorder.Close(), c.broken, history.MergeParts(c.dir, c.header()), c.saveRan())
	}()
	if c.store, err = store.Open(ctx, store.Rows{Postgres: c.run.places.Postgres, Schema: c.name, Resources: c.resources, Tables: c.strategy.Guard.Tables()}); err != nil {
		return err
	}
	defer c.store.Close()
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer stop()
	watchers.Go(func() { harness.WatchClock(watching, c.record) })

	places, err := c.open(ctx)
	defer func() {
		for _, p := range places {
			p.close()
		}
	}()
	if err != nil {
		return err
	}
	broke := c.work(ctx, places, told)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepPatience)
	defer cancel()
	if broke == nil || ctx.Err() != nil {
		for _, p := range places {
			broke = errors.Join(broke, p.finish(ending))
		}
	}
	return errors.Join(broke, c.final(ending))
}

// open starts the pool.
func (c *cell) open(ctx context.Context) ([]*place, error) {
	ctx, cancel := bounded(ctx, stepPatience)
	defer cancel()
	places := make([]*place, min(c.run.parallel, len(c.plan.Schedules)))
	errs := make([]error, len(places))
	var opening sync.WaitGroup
	for i := range places {
		places[i] = &place{cell: c, name: fmt.Sprintf("p%02d", i+1)}
		opening.Go(func() { errs[i] = places[i].open(ctx) })
	}
	opening.Wait()
	for _, err := range errs {
		if err != nil { // one speaks for all: the rest fails for the same reason
			return places, err
		}
	}
	return places, nil
}

// work has the places play the schedules, in their order.
func (c *cell) work(ctx context.Context, places []*place, told func(done int)) error {
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	next := make(chan string)
	go func() {
		defer close(next)
		for _, id := range c.plan.Schedules {
			select {
			case next <- id:
			case <-ctx.Done():
				return
			}
		}
	}()
	var playing sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for _, p := range places {
		playing.Go(func() {
			for id := range next {
				if err := c.schedule(ctx, p, id); err != nil {
					abort(err)
					return
				}
				mu.Lock()
				done++
				told(done)
				mu.Unlock()
			}
		})
	}
	playing.Wait()
	return harness.Interrupted(ctx)
}

// schedule runs a schedule; again, on another resource, if the machine was too
// slow for it.
func (c *cell) schedule(ctx context.Context, p *place, id string) error {
	m, err := ModelOf(c.strategy)
	if err != nil {
		return err
	}
	moves, err := ProgramOf(c.strategy).Moves(id)
	if err != nil {
		return err
	}
	f := m.Forecast(moves)
	ran := &Ran{ID: id}
	c.mu.Lock()
	c.ran[id] = ran
	c.mu.Unlock()
	for resource := id; ; {
		e, why, err := p.play(ctx, f, resource)
		if ctx.Err() != nil {
			why = "interrupted"
		}
		found := f.examine(e)
		if why == "" && len(found.unplanned) > 0 {
			why = found.unplanned[0]
		}
		c.mu.Lock()
		ran.Tries = append(ran.Tries, Try{Resource: resource, Why: why})
		again := err == nil && ctx.Err() == nil && found.early && len(ran.Tries) < mostTries && len(c.spare) > 0
		if again {
			resource, c.spare = c.spare[0], c.spare[1:]
		}
		c.mu.Unlock()
		if err != nil {
			return fmt.Errorf("schedule %s: %w", id, err)
		}
		if !again {
			return nil
		}
	}
}

func (c *cell) saveRan() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ran := []Ran{}
	for _, id := range c.plan.Schedules {
		if r := c.ran[id]; r != nil {
			ran = append(ran, *r)
		}
	}
	return harness.SaveJSON(c.path("ran.json"), ran)
}

// final makes the evidence complete: no statement of a client can arrive any
// more, and the journal is saved.
func (c *cell) final(ctx context.Context) error {
	if err := c.store.Quiesce(ctx, c.name+"/"); err != nil {
		return err
	}
	entries, err := c.store.Journal(ctx)
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	if err := history.WriteJournal(c.path("journal.jsonl"), entries); err != nil {
		return err
	}
	return c.store.Drop(ctx)
}

func (c *cell) header() history.Header {
	locker := c.strategy.Locker.Name
	if locker == "" {
		locker = "none"
	}
	return history.Header{Schema: history.Schema, Run: c.run.id, Strategy: c.strategy.Name, Fault: "explore", Locker: locker,
		Guard: c.strategy.Guard.Name, LeaseBy: c.strategy.Locker.LeaseBy, Tokens: c.strategy.Locker.Tokens,
		TTL: int64(c.plan.TTL), Resources: c.resources, Seed: c.plan.Seed}
}

// since is how long ago, in seconds with one digit.
func since(began time.Time) float64 {
	return time.Since(began).Round(100 * time.Millisecond).Seconds()
}
