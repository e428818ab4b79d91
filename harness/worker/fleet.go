package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/nemesis"
)

// Fleet supervises the workers of one cell.
type Fleet struct {
	setup  Setup // of every worker; Worker and History are filled in
	parts  string
	logs   string
	exe    string
	told   func(pid int, start uint64) error
	record func(history.Event)

	mu        sync.Mutex
	members   map[string]*member
	renewers  map[string]*member // by the worker they renew for
	order     []string
	started   int
	listeners map[int]func(nemesis.Seen)
	nextID    int
	failed    chan error // the first unexpected end of a worker
	watching  sync.WaitGroup
}

// NewFleet prepares a fleet whose workers write their parts of the history into
// parts and their logs into logs. told is called with each process before it
// does anything; record keeps the supervisor's own events.
func NewFleet(setup Setup, parts, logs string, told func(pid int, start uint64) error, record func(history.Event)) (*Fleet, error) {
	// Not /proc/self/exe, which would make `exe` their name in every process list.
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find our own binary: %w", err)
	}
	return &Fleet{setup: setup, parts: parts, logs: logs, exe: exe, told: told, record: record,
		members: map[string]*member{}, renewers: map[string]*member{}, listeners: map[int]func(nemesis.Seen){}, failed: make(chan error, 1)}, nil
}

// Failed delivers the first unexpected end of a worker.
func (f *Fleet) Failed() <-chan error { return f.failed }

// Start starts n workers at once and returns when all are connected.
func (f *Fleet) Start(ctx context.Context, n int) error {
	var starting sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		name := f.newName()
		starting.Go(func() { errs[i] = f.start(ctx, name) })
	}
	starting.Wait()
	for _, err := range errs {
		if err != nil { // one speaks for all: the rest fails for the same reason
			return err
		}
	}
	return nil
}

func (f *Fleet) newName() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started++
	name := fmt.Sprintf("w%d", f.started)
	f.order = append(f.order, name)
	return name
}

// Part is the path of a worker's part of the history.
func (f *Fleet) part(name string) string { return filepath.Join(f.parts, name+".jsonl") }

func (f *Fleet) start(ctx context.Context, name string) error {
	if err := f.startRenewer(ctx, name); err != nil {
		return err
	}
	setup := f.setup
	setup.Worker, setup.History = name, f.part(name)
	m, err := launch(f.exe, f.logs, setup, f.told, f.hear)
	if err != nil {
		return fmt.Errorf("start worker %s: %w", name, err)
	}
	f.mu.Lock()
	f.members[name] = m
	f.mu.Unlock()
	if err := m.awaitReady(ctx); err != nil {
		return err
	}
	f.record(history.Event{Type: history.TypeWorker, Time: history.Now(), Worker: name, Status: "started", PID: m.process.Pid()})
	f.watching.Go(func() { f.watch(m) })
	return nil
}

// watch notices an end that nobody asked for.
func (f *Fleet) watch(m *member) {
	<-m.process.Done()
	f.mu.Lock()
	wanted := m.leaving
	f.mu.Unlock()
	if wanted {
		return
	}
	f.record(history.Event{Type: history.TypeWorker, Time: history.Now(), Worker: m.name, Status: "exited", PID: m.process.Pid()})
	f.fail(m.end())
}

func (f *Fleet) fail(err error) {
	select {
	case f.failed <- err:
	default:
	}
}

func (f *Fleet) hear(m *member, r Report) {
	seen := nemesis.Seen{Worker: m.name}
	switch r.Say {
	case sayArrived:
		seen.Point, seen.Resource, seen.Time = r.Point, r.Resource, r.Time
	case sayProgress:
		seen.Resource, seen.Time, seen.Progress = r.Progress.Resource, r.Progress.Return, r.Progress
	case sayHeld:
		f.handOn(m.name, Command{Do: doAdopt, Held: r.Held})
		return
	case sayDropped:
		f.handOn(m.name, Command{Do: doDrop, Held: r.Held})
		return
	case sayKept:
		f.answered(m.name, Command{Do: doKept, Held: r.Held})
		return
	case sayLost:
		f.answered(m.name, Command{Do: doLost, Held: r.Held})
		return
	case sayError:
		f.fail(fmt.Errorf("worker %s: %s", m.name, r.Error))
		return
	default:
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, listen := range f.listeners {
		listen(seen)
	}
}

// Listen has listen called for everything a client tells, until stop is
// called. listen must return at once.
func (f *Fleet) Listen(listen func(nemesis.Seen)) (stop func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := f.nextID
	f.nextID++
	f.listeners[id] = listen
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.listeners, id)
	}
}

// Begin lets all clients start.
func (f *Fleet) Begin() error {
	return f.each(func(m *member) error { return m.send(Command{Do: doBegin}) })
}

// Alive lists the workers that are there now, in the order of their start.
func (f *Fleet) Alive() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.order), func(name string) bool {
		m := f.members[name]
		return m == nil || m.leaving
	})
}

func (f *Fleet) member(name string) (*member, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.members[name]; m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("there is no worker %q", name)
}

func (f *Fleet) each(do func(*member) error) error {
	var errs []error
	for _, name := range f.Alive() {
		m, err := f.member(name)
		if err == nil {
			err = do(m)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (f *Fleet) command(name string, c Command) error {
	m, err := f.member(name)
	if err != nil {
		return err
	}
	return m.send(c)
}

// Arm makes the clients of a worker wait at a point, those of the resources
// named or all.
func (f *Fleet) Arm(name, point string, resources []string) error {
	return f.command(name, Command{Do: doArm, Point: point, Resources: resources})
}

// Disarm forgets a worker's points; who waits goes on waiting.
func (f *Fleet) Disarm(name string) error { return f.command(name, Command{Do: doDisarm}) }

// Go lets waiting clients go on, those of the resources named or all. To a
// stopped worker it says so ahead of its resume.
func (f *Fleet) Go(name string, resources []string) error {
	return f.command(name, Command{Do: doGo, Resources: resources})
}

// Stop stops a worker and returns once it is proven, with the number of its threads.
func (f *Fleet) Stop(ctx context.Context, name string) (threads int, err error) {
	m, err := f.member(name)
	if err != nil {
		return 0, err
	}
	return m.process.Stop(ctx)
}

// Continue lets a stopped worker go on.
func (f *Fleet) Continue(ctx context.Context, name string) error {
	m, err := f.member(name)
	if err != nil {
		return err
	}
	return m.process.Continue(ctx)
}

// Kill kills a worker (-9) and returns once it is gone.
func (f *Fleet) Kill(ctx context.Context, name string) error {
	m, err := f.member(name)
	if err != nil {
		return err
	}
	f.mu.Lock()
	m.leaving = true
	f.mu.Unlock()
	if err := m.process.Kill(ctx); err != nil {
		return err
	}
	<-m.drained
	m.in.Close()
	f.mu.Lock()
	delete(f.members, name)
	f.mu.Unlock()
	f.record(history.Event{Type: history.TypeWorker, Time: history.Now(), Worker: name, Status: "killed", PID: m.process.Pid()})
	return nil
}

// Replace starts one more worker, with clients of its own.
func (f *Fleet) Replace(ctx context.Context) (string, error) {
	name := f.newName()
	if err := f.start(ctx, name); err != nil {
		return "", err
	}
	return name, f.command(name, Command{Do: doBegin})
}

// Finish lets every client end its present update, and returns when all
// workers have exited in good order.
func (f *Fleet) Finish(ctx context.Context) error {
	members, renewers := f.leave()
	return errors.Join(finish(ctx, members), finish(ctx, renewers))
}

func finish(ctx context.Context, members []*member) error {
	var errs []error
	for _, m := range members {
		errs = append(errs, m.send(Command{Do: doFinish}))
	}
	for _, m := range members {
		select {
		case <-m.process.Done():
			m.in.Close()
			<-m.drained
			if m.process.Err() != nil || m.said != nil {
				errs = append(errs, m.end())
			}
		case <-ctx.Done():
			errs = append(errs, fmt.Errorf("worker %s did not finish: %w", m.name, ctx.Err()))
		}
	}
	return errors.Join(errs...)
}

// leave notes that the end of every worker, and of every renewer, is wanted from
// now on.
func (f *Fleet) leave() (members, renewers []*member) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range f.order {
		if m := f.members[name]; m != nil {
			m.leaving = true
			members = append(members, m)
		}
		if m := f.renewers[name]; m != nil {
			m.leaving = true
			renewers = append(renewers, m)
		}
	}
	return members, renewers
}

// Destroy kills whatever is left, stopped or not. Nothing is recorded any more
// when it returns before the end of ctx.
func (f *Fleet) Destroy(ctx context.Context) {
	left := 0
	members, renewers := f.leave()
	for _, m := range append(members, renewers...) {
		if err := m.process.Kill(ctx); err != nil {
			left++ // ctx has ended before the process did
		}
		m.in.Close()
	}
	if left == 0 {
		f.watching.Wait()
	}
}

// All lists every worker there was, in the order of their start.
func (f *Fleet) All() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.order)
}
