package claims

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/store"
	"github.com/torture-harness/torture/harness/worker"
	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/lock"
)

// Actor is one client in a process of its own. Its steps are calls; each
// returns what the client was told.
type Actor struct {
	Name     string
	Worker   string // the process it lives in
	Resource string
	Strategy workloads.Strategy
	Held     workloads.Held // the grant it acts under, as of its last step

	Wires Wires // proxies between it and the servers, if it was asked for them

	stage  *Stage
	player *worker.Player
	owns   bool // it is the first of its process and ends it
	last   map[history.Kind]workloads.Done
	stops  []Stop
	gone   bool
}

// Stop is one stop of an actor, proven.
type Stop struct {
	ID       string
	From, To int64 // ns; To is the moment before it was let go on, history.Never if it was not
	Threads  int
}

// Part describes an actor that is not like the case says.
type Part struct {
	Name     string
	Strategy string        // instead of the case's
	Resource string        // instead of the first
	TTL      time.Duration // instead of the case's
	Value    string        // of its locks, where it is not drawn for each holding
	Wired    bool          // proxies between it and every server
	Patience time.Duration // the deadline of each request; 0 is longer than any pause
	Database string        // connection string, instead of the servers'
	PerNode  time.Duration // how long one of several lock servers may take to answer; 0 is the locker's own choice
}

// Cast starts actors that are as the case says.
func (s *Stage) Cast(names ...string) []*Actor {
	parts := make([]Part, len(names))
	for i, name := range names {
		parts[i] = Part{Name: name}
	}
	return s.Parts(parts...)
}

// Parts starts actors, those of one process in one, all at once.
func (s *Stage) Parts(parts ...Part) []*Actor {
	actors := make([]*Actor, len(parts))
	for i, p := range parts {
		a, err := s.prepare(p)
		s.must(err, "prepare "+p.Name)
		actors[i] = a
	}
	errs := make(chan error, len(parts))
	for i, a := range actors {
		go func() {
			errs <- a.launch(parts[i])
		}()
	}
	var all error
	for range parts {
		all = errors.Join(all, <-errs)
	}
	for _, a := range actors {
		if a.player != nil {
			s.actors = append(s.actors, a)
		}
	}
	s.must(all, "start the actors")
	return actors
}

// Pair starts actors that share one process and one locker.
func (s *Stage) Pair(strategy string, names ...string) []*Actor {
	parts := make([]Part, len(names))
	for i, name := range names {
		parts[i] = Part{Name: name, Strategy: strategy}
	}
	return s.OneProcess(parts...)
}

// OneProcess starts actors that share one process, one locker and its wires,
// those of the first part.
func (s *Stage) OneProcess(parts ...Part) []*Actor {
	var actors []*Actor
	var roles []worker.Role
	for _, p := range parts {
		a, err := s.prepare(p)
		s.must(err, "prepare "+p.Name)
		a.Worker = parts[0].Name
		actors = append(actors, a)
		roles = append(roles, worker.Role{Name: a.Name, Resource: a.Resource})
	}
	first := actors[0]
	err := first.launch(parts[0], roles...)
	for _, a := range actors {
		a.player, a.Wires, a.owns = first.player, first.Wires, a == first
	}
	if first.player != nil {
		s.actors = append(s.actors, actors...)
	}
	s.must(err, "start the actors")
	return actors
}

func (s *Stage) prepare(p Part) (*Actor, error) {
	strategy := s.strategy
	if p.Strategy != "" {
		var err error
		if strategy, err = workloads.Find(p.Strategy); err != nil {
			return nil, err
		}
	}
	return &Actor{Name: p.Name, Worker: p.Name, Resource: cmp.Or(p.Resource, s.resources()[0]), Strategy: strategy, stage: s,
		last: map[history.Kind]workloads.Done{}, owns: true}, nil
}

func (a *Actor) launch(p Part, roles ...worker.Role) error {
	s := a.stage
	places := s.Servers.Places
	places.Postgres = cmp.Or(p.Database, places.Postgres)
	if p.Wired {
		var err error
		if places, err = a.Wires.string(places); err != nil {
			return err
		}
	}
	places.Postgres = store.WithSchema(places.Postgres, s.name)
	places.Keeper = s.keeper
	if len(roles) == 0 {
		roles = []worker.Role{{Name: a.Name, Resource: a.Resource}}
	}
	setup := worker.Setup{Worker: a.Worker, Cell: s.name, Strategy: cmp.Or(p.Strategy, a.Strategy.Name), Places: places, Resources: s.resources(),
		TTL: cmp.Or(p.TTL, s.TTL), Patience: cmp.Or(p.Patience, max(30*time.Second, 10*s.TTL)), PerNode: p.PerNode, Seed: uint64(s.run.seed), Value: p.Value,
		History: s.path("parts", a.Worker+".jsonl"), Cast: roles}
	ctx, cancel := context.WithTimeout(s.ctx, 60*time.Second)
	defer cancel()
	player, err := worker.Launch(ctx, setup, s.path("logs"), func(pid int, start uint64) error {
		return s.run.guardian.Process(pid, start, "worker")
	})
	if err != nil {
		return err
	}
	a.player = player
	s.Record(history.Event{Type: history.TypeWorker, Time: history.Now(), Worker: a.Worker, Status: "started", PID: player.PID()})
	return nil
}

func (a *Actor) finish(ctx context.Context) error {
	if !a.owns || a.gone {
		return nil
	}
	a.gone = true
	return a.player.Finish(ctx)
}

func (a *Actor) close() {
	if a.owns && a.player != nil {
		a.player.Destroy(context.Background())
	}
	for _, p := range a.Wires.all() {
		_ = p.Close()
	}
}

// PID is the actor's process.
func (a *Actor) PID() int { return a.player.PID() }

// Connection is the name of the actor's connection in pg_stat_activity.
func (a *Actor) Connection() string { return a.stage.name + "/" + a.Name }

// Last is the last operation of a kind as the actor saw it.
func (a *Actor) Last(kind history.Kind) workloads.Done { return a.last[kind] }

// Doing is a step in progress.
type Doing struct {
	actor   *Actor
	running *worker.Running
}

// Begin gives the actor a step, which it does after those it has been given
// before; one that is stopped begins it when it goes on.
func (a *Actor) Begin(step workloads.Step) *Doing {
	running, err := a.player.Begin(a.Name, step)
	a.stage.must(err, fmt.Sprintf("tell %s to %s", a.Name, step.Do))
	return &Doing{actor: a, running: running}
}

// Wait waits for the step's end. The outcome can then be named in the
// expectation: write(A)=ok.
func (d *Doing) Wait() workloads.Done {
	s := d.actor.stage
	ctx, cancel := s.Context()
	defer cancel()
	done, held, err := d.running.Wait(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		s.impossible("%s did not end its step in time", d.actor.Name)
	}
	s.must(err, d.actor.Name)
	d.actor.Held = held
	if done.Kind != "" {
		d.actor.last[done.Kind] = done
		s.Tell(fmt.Sprintf("%s(%s)", done.Kind, d.actor.Name), string(done.Outcome))
	}
	return done
}

// Ended reports whether the step has ended.
func (d *Doing) Ended() bool {
	select {
	case <-d.running.Ended():
		return true
	default:
		return false
	}
}

// Do does one step and waits for its end.
func (a *Actor) Do(kind history.Kind) workloads.Done { return a.Begin(workloads.Step{Do: kind}).Wait() }

// Acquire takes the lock, trying until it has it. A lock that cannot be had
// ends the script.
func (a *Actor) Acquire() workloads.Done {
	done, ok := a.acquireWithin(0)
	if !ok {
		a.stage.impossible("%s could not take the lock: %s", a.Name, done.Error)
	}
	return done
}

// Try makes so many attempts at most, and no longer than it takes.
func (a *Actor) Try(attempts int) workloads.Done {
	return a.Begin(workloads.Step{Do: history.Acquire, Tries: attempts}).Wait()
}

// TryFor tries until it has the lock or the time has passed.
func (a *Actor) TryFor(most time.Duration) (workloads.Done, bool) { return a.acquireWithin(most) }

func (a *Actor) acquireWithin(most time.Duration) (workloads.Done, bool) {
	d := a.Begin(workloads.Step{Do: history.Acquire})
	if most == 0 {
		most = 10*a.stage.TTL + 10*time.Second
	}
	return d.Within(most)
}

// Within waits for the end of the tries for a lock, and has them given up once
// the time has passed.
func (d *Doing) Within(most time.Duration) (workloads.Done, bool) {
	s := d.actor.stage
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-d.running.Ended():
	case <-timer.C:
		d.actor.GiveUp()
	case <-s.ctx.Done():
		s.fail(s.ctx.Err())
	}
	done := d.Wait()
	return done, done.Outcome == history.OK
}

// GiveUp has the actor give up the request in hand, whose outcome is then
// unknown, or end its tries for the lock.
func (a *Actor) GiveUp() { a.stage.must(a.player.GiveUp(a.Name), "tell "+a.Name) }

// Adopt has the actor act under the grant of another, as a separate renewer does.
func (a *Actor) Adopt(of *Actor) { a.stage.must(a.player.Adopt(a.Name, of.Held), "tell "+a.Name) }

// Lease is the lease of the grant that the actor acts under.
func (a *Actor) Lease() lock.Lease { return a.Held.Lease }

// LeaseEnd is when the lease of the actor's last acquire ends by what it was
// told, ns: start + TTL. Renewals by others are not in it.
func (a *Actor) LeaseEnd() int64 {
	done := a.last[history.Acquire]
	end := done.LeaseCall + done.LeaseTTL
	if renewed := a.last[history.Renew]; renewed.Outcome == history.OK && renewed.Call > done.Return {
		end = renewed.LeaseCall + renewed.LeaseTTL
	}
	return end
}

// Read reads the document.
func (a *Actor) Read() workloads.Done { return a.Do(history.Read) }

// Claim raises the fence and reads.
func (a *Actor) Claim() workloads.Done { return a.Do(history.Claim) }

// Enter is Claim for guards that claim, Read for others.
func (a *Actor) Enter() workloads.Done {
	if a.Strategy.Guard.Claims {
		return a.Claim()
	}
	return a.Read()
}

// Draw draws the token of the grant.
func (a *Actor) Draw() workloads.Done { return a.Do(history.Draw) }

// Check asks whether the lock is still the actor's.
func (a *Actor) Check() workloads.Done { return a.Do(history.Check) }

// Renew prolongs the lease.
func (a *Actor) Renew() workloads.Done { return a.Do(history.Renew) }

// Write writes what it computed from its last read.
func (a *Actor) Write() workloads.Done { return a.Do(history.Write) }

// WriteThrough writes through another entry, which has another guard.
func (a *Actor) WriteThrough(guard string) workloads.Done {
	return a.Begin(workloads.Step{Do: history.Write, Guard: guard}).Wait()
}

// Release gives the lock back.
func (a *Actor) Release() workloads.Done { return a.Do(history.Release) }

// Arm makes the actor wait when it reaches a point, inside a step too.
func (a *Actor) Arm(point string) { a.stage.must(a.player.Arm(point), "tell "+a.Name) }

// Go lets it go on from wherever it waits, and disarms.
func (a *Actor) Go() { a.stage.must(a.player.Go(), "tell "+a.Name) }

// AwaitAt waits until it has reached a point.
func (a *Actor) AwaitAt(point string) {
	ctx, cancel := a.stage.Context()
	defer cancel()
	if err := a.player.AwaitArrived(ctx, a.Name, point); err != nil {
		a.stage.impossible("%v", err)
	}
}

// ArrivesAt waits until the actor waits at a point, or its step has ended
// without passing it; then it is false.
func (d *Doing) ArrivesAt(point string) bool {
	ctx, cancel := d.actor.stage.Context()
	defer cancel()
	go func() {
		select {
		case <-d.running.Ended():
			cancel()
		case <-ctx.Done():
		}
	}()
	return d.actor.player.AwaitArrived(ctx, d.actor.Name, point) == nil
}
