package claims

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/store"
	"github.com/torture-harness/torture/harness/worker"
	"github.com/torture-harness/torture/workloads"
)

// Stage is where one case is played: servers, rows, actors, and what is seen.
type Stage struct {
	Case     Case
	TTL      time.Duration
	Servers  *Servers
	strategy workloads.Strategy

	ctx      context.Context
	run      *run
	name     string // unique among all runs: schema, key prefix, connection names
	dir      string
	recorder *history.Recorder
	store    *store.Store
	observer *store.Observer

	mu     sync.Mutex
	broken error
	actors []*Actor
	proofs []Proof
	facts  map[string]string
	told   []string // what happened, in words
	faults int
	keeper string   // where a process keeps numbers in its memory, "" for nowhere
	heals  []func() // undo what is still disturbed, last first
}

// endScript ends a script early; see fail and impossible.
type endScript struct {
	err  error // the harness or a server broke
	what string
}

// fail ends the script: something broke that the claim is not about.
func (s *Stage) fail(err error) { panic(endScript{err: err}) }

// impossible ends the script: its situation cannot be brought about.
func (s *Stage) impossible(format string, args ...any) {
	panic(endScript{what: fmt.Sprintf(format, args...)})
}

// must ends the script on an error.
func (s *Stage) must(err error, doing string) {
	if err != nil {
		s.fail(fmt.Errorf("%s: %w", doing, err))
	}
}

// Context bounds one wait: long enough for anything that comes at all.
func (s *Stage) Context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.ctx, 20*s.TTL+20*time.Second)
}

// Record keeps an event of the stage itself.
func (s *Stage) Record(e history.Event) {
	if err := s.recorder.Write(e); err != nil {
		s.mu.Lock()
		s.broken = errors.Join(s.broken, err)
		s.mu.Unlock()
	}
}

// Prove says that a part of the situation occurred, or did not. how are figures.
func (s *Stage) Prove(ok bool, what, how string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proofs = append(s.proofs, Proof{What: what, OK: ok, How: fmt.Sprintf(how, args...)})
}

// Tell notes an outcome or an observation that the expectation may name:
// Tell("write(42)", "ok"), Tell("no handover", "").
func (s *Stage) Tell(what, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.facts[what] = value
}

// Say adds a sentence to what happened.
func (s *Stage) Say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, fmt.Sprintf(format, args...))
}

// Await probes until cond holds, or ends the script with what was awaited in vain.
func (s *Stage) Await(what string, cond func(context.Context) bool) {
	if !s.Within(20*s.TTL+20*time.Second, cond) {
		s.impossible("waited in vain for: %s", what)
	}
}

// Within probes until cond holds, and reports whether it did in time.
func (s *Stage) Within(most time.Duration, cond func(context.Context) bool) bool {
	ctx, cancel := context.WithTimeout(s.ctx, most)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		if cond(ctx) {
			return true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}

// Fault records one moment of one fault, of a victim that is no actor say.
func (s *Stage) Fault(id, kind string, phase history.Phase, victim, detail string) {
	s.Record(history.Event{Type: history.TypeFault, Time: history.Now(), Fault: &history.Fault{ID: id, Kind: kind, Phase: phase, Victim: victim, Detail: detail}})
}

// FaultID is a fresh name for a fault.
func (s *Stage) FaultID(kind string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults++
	return fmt.Sprintf("%s-%d", kind, s.faults)
}

// Heal has undo called at the end of the case, whatever becomes of it; undo is
// also returned, to be called earlier. It runs once.
func (s *Stage) Heal(undo func()) func() {
	once := sync.OnceFunc(undo)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heals = append(s.heals, once)
	return once
}

func (s *Stage) heal() {
	s.mu.Lock()
	heals := s.heals
	s.heals = nil
	s.mu.Unlock()
	for i := len(heals) - 1; i >= 0; i-- {
		heals[i]()
	}
}

func (s *Stage) resources() []string {
	if len(s.Case.Resources) == 0 {
		return []string{"r"}
	}
	return s.Case.Resources
}

// Key is the lock's key of a resource in its server.
func (s *Stage) Key(resource string) string { return s.name + "/" + resource }

// Prefix is what all keys of this stage begin with.
func (s *Stage) Prefix() string { return s.name + "/" }

func (s *Stage) path(name ...string) string {
	return filepath.Join(append([]string{s.dir}, name...)...)
}

// open prepares rows, observer and recorder.
func (s *Stage) open() (err error) {
	for _, dir := range []string{s.path("parts"), s.path("logs")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if s.strategy, err = workloads.Find(s.Case.Strategy); err != nil {
		return err
	}
	if s.recorder, err = history.NewRecorder(s.path("parts", "harness.jsonl")); err != nil {
		return err
	}
	if s.store, err = store.Open(s.ctx, store.Rows{Postgres: s.Servers.Cluster.PostgresDSN(), Etcd: s.strategy.Guard.Documents(s.Servers.Places),
		Schema: s.name, Resources: s.resources(), Tables: s.strategy.Guard.Tables()}); err != nil {
		return err
	}
	if s.Case.Tables != "" {
		if err := s.store.Exec(s.ctx, s.Case.Tables); err != nil {
			return fmt.Errorf("tables of the case: %w", err)
		}
	}
	s.observer, err = s.store.Observe(s.ctx, s.Record, s.TTL/20)
	return err
}

// play runs the script and everything after it until the history is complete.
// stopped is why the script did not come to its end, if it did not.
func (s *Stage) play() (stopped string, err error) {
	watching, stop := context.WithCancel(s.ctx)
	defer stop()
	var watchers sync.WaitGroup
	defer watchers.Wait()
	watchers.Go(func() { worker.WatchStalls(watching, "", s.Record) })
	observed := make(chan error, 1)
	watchers.Go(func() { observed <- s.observer.Watch(watching) })

	stopped, err = s.perform()
	s.heal()
	if err == nil {
		err = s.finish()
	}
	stop()
	if e := <-observed; err == nil && e != nil && !s.Servers.Disturbed {
		err = e
	}
	return stopped, err
}

// perform runs the script; whatever it ends with, no actor stays stopped.
func (s *Stage) perform() (stopped string, err error) {
	defer func() {
		switch end := recover().(type) {
		case nil:
		case endScript:
			stopped, err = end.what, end.err
		default:
			panic(end)
		}
	}()
	s.Case.Play(s)
	return "", nil
}

func (s *Stage) finish() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), 60*time.Second)
	defer cancel()
	var errs []error
	for _, a := range s.actors {
		errs = append(errs, a.finish(ctx))
	}
	return errors.Join(errs...)
}

// final makes the history complete: no statement can arrive any more, every
// row is read once more, and the journal is saved.
func (s *Stage) final() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), 60*time.Second)
	defer cancel()
	if err := s.store.Quiesce(ctx, s.name+"/"); err != nil {
		return err
	}
	if err := s.observer.Read(ctx); err != nil {
		return err
	}
	entries, err := s.store.Journal(ctx)
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	return history.WriteJournal(s.path("journal.jsonl"), entries)
}

func (s *Stage) header() history.Header {
	var workers []string
	for _, a := range s.actors {
		workers = append(workers, a.Worker)
	}
	locker := s.strategy.Locker.Name
	if locker == "" {
		locker = "none"
	}
	return history.Header{Schema: history.Schema, Run: s.run.id, Strategy: s.strategy.Name, Fault: "claim", Locker: locker,
		Guard: s.strategy.Guard.Name, LeaseBy: s.strategy.Locker.LeaseBy, Tokens: s.strategy.Locker.Tokens, Resends: s.Case.Resends,
		TTL: int64(s.TTL), Resources: s.resources(), Workers: workers, Seed: s.run.seed}
}

// merge makes one history of all parts.
func (s *Stage) merge() error {
	if err := errors.Join(s.recorder.Close(), s.broken); err != nil {
		return err
	}
	return history.MergeParts(s.dir, s.header())
}

// close takes everything down.
func (s *Stage) close() {
	s.heal()
	for _, a := range s.actors {
		a.close()
	}
	if s.observer != nil {
		s.observer.Close()
	}
	if s.store != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = s.store.Drop(ctx) // its content has been saved; the server is ours
		s.store.Close()
	}
}

// happened is what the script told, in one line.
func (s *Stage) happened() string { return strings.Join(s.told, "; ") }
