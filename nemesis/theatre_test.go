package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

// theatre is an arena whose workers are played: it keeps account of who is
// stopped, held or dead, and lets a script react to what the nemesis does.
type theatre struct {
	acting    sync.Mutex // one reaction at a time
	mu        sync.Mutex
	workers   []string
	calls     []string
	stopped   map[string]bool
	armed     map[string][]string        // worker to points
	waiting   map[string]map[string]bool // worker to resources
	listeners map[int]func(Seen)
	events    []history.Event
	wire      *playedWire
	machines  *playedServers

	enough  chan struct{}
	script  func(call string)              // told of each call once it is done
	said    func(history.Fault)            // told of each fault recorded
	failing func(n int, call string) error // may fail the n-th call, which then has no effect
}

var stage = []string{"r00", "r01", "r02", "r03", "r04", "r05", "r06"}

func newTheatre(workers ...string) *theatre {
	th := &theatre{
		workers: workers, stopped: map[string]bool{}, armed: map[string][]string{}, waiting: map[string]map[string]bool{},
		listeners: map[int]func(Seen){}, enough: make(chan struct{}),
		script: func(string) {}, said: func(history.Fault) {}, failing: func(int, string) error { return nil },
	}
	th.wire = &playedWire{theatre: th, held: map[string]int{}}
	th.machines = &playedServers{theatre: th, kinds: []string{"redis", "etcd", "postgres"}}
	return th
}

func (th *theatre) arena(seed uint64, ttl time.Duration) *Arena {
	return &Arena{Processes: th, Points: th, Watcher: th, Wire: th.wire, Servers: th.machines, Record: th.record,
		Resources: stage, Point: workloads.AfterRead, TTL: ttl, Seed: seed, Enough: th.enough}
}

// do is one call: unless it fails it has its effect, and then the script goes on.
func (th *theatre) do(ctx context.Context, effect func() error, format string, args ...any) error {
	call := fmt.Sprintf(format, args...)
	th.mu.Lock()
	th.calls = append(th.calls, call)
	err := th.failing(len(th.calls)-1, call)
	if err == nil && ctx != nil {
		err = ctx.Err()
	}
	if err == nil {
		err = effect()
	}
	th.mu.Unlock()
	if err == nil {
		th.acting.Lock()
		defer th.acting.Unlock()
		th.script(call)
	}
	return err
}

func (th *theatre) Stop(ctx context.Context, w string) (int, error) {
	return 7, th.do(ctx, func() error {
		if th.stopped[w] || !slices.Contains(th.workers, w) {
			return fmt.Errorf("%s cannot be stopped", w)
		}
		th.stopped[w] = true
		return nil
	}, "stop %s", w)
}

func (th *theatre) Continue(ctx context.Context, w string) error {
	return th.do(ctx, func() error {
		if !th.stopped[w] {
			return fmt.Errorf("%s is not stopped", w)
		}
		delete(th.stopped, w)
		return nil
	}, "continue %s", w)
}

func (th *theatre) Kill(ctx context.Context, w string) error {
	return th.do(ctx, func() error {
		th.workers = slices.DeleteFunc(th.workers, func(other string) bool { return other == w })
		return nil
	}, "kill %s", w)
}

func (th *theatre) Replace(ctx context.Context) (string, error) {
	name := fmt.Sprintf("w%d", len(th.calls)+10)
	return name, th.do(ctx, func() error {
		th.workers = append(th.workers, name)
		return nil
	}, "replace %s", name)
}

func (th *theatre) Arm(w, point string, resources []string) error {
	return th.do(context.Background(), func() error { th.armed[w] = append(th.armed[w], point); return nil }, "arm %s %s %v", w, point, resources)
}

func (th *theatre) Disarm(w string) error {
	return th.do(context.Background(), func() error { delete(th.armed, w); return nil }, "disarm %s", w)
}

func (th *theatre) Go(w string, resources []string) error {
	return th.do(context.Background(), func() error {
		for r := range th.waiting[w] {
			if len(resources) == 0 || slices.Contains(resources, r) {
				delete(th.waiting[w], r)
			}
		}
		return nil
	}, "go %s %v", w, resources)
}

func (th *theatre) Listen(listen func(Seen)) (stop func()) {
	th.mu.Lock()
	defer th.mu.Unlock()
	id := len(th.calls)<<8 + len(th.listeners)
	th.listeners[id] = listen
	return func() {
		th.mu.Lock()
		defer th.mu.Unlock()
		delete(th.listeners, id)
	}
}

func (th *theatre) Alive() []string {
	th.mu.Lock()
	defer th.mu.Unlock()
	return slices.Clone(th.workers)
}

func (th *theatre) record(e history.Event) {
	th.mu.Lock()
	th.events = append(th.events, e)
	th.mu.Unlock()
	th.acting.Lock()
	defer th.acting.Unlock()
	th.said(*e.Fault)
}

func (th *theatre) tell(s Seen) {
	th.mu.Lock()
	defer th.mu.Unlock()
	if s.Point != "" {
		if th.waiting[s.Worker] == nil {
			th.waiting[s.Worker] = map[string]bool{}
		}
		th.waiting[s.Worker][s.Resource] = true
	}
	s.Time = history.Now()
	for _, listen := range th.listeners {
		listen(s)
	}
}

// arrives: the client of w waits at the point.
func (th *theatre) arrives(w, resource string) {
	th.tell(Seen{Worker: w, Resource: resource, Point: workloads.AfterRead})
}

// writes: a write of w is answered, under a grant of this moment.
func (th *theatre) writes(w, resource string, outcome history.Outcome) {
	now := history.Now()
	th.tell(Seen{Worker: w, Resource: resource, Progress: &workloads.Progress{
		Kind: history.Write, Worker: w, Resource: resource, Outcome: outcome, Call: now, Return: now + 1, GrantCall: now, GrantReturn: now}})
}

// last is the worker that no pause hits. It takes over.
func (th *theatre) last() string {
	workers := th.Alive()
	return workers[len(workers)-1]
}

// healed asserts that everything is as if nothing had been done.
func (th *theatre) healed(t *testing.T) {
	t.Helper()
	th.mu.Lock()
	defer th.mu.Unlock()
	if len(th.wire.held) > 0 || th.wire.holding != "" {
		t.Errorf("%v of %q is held", th.wire.held, th.wire.holding)
	}
	if len(th.stopped) > 0 || len(th.armed) > 0 || len(th.listeners) > 0 {
		t.Errorf("stopped are %v, armed are %v, %d listen", th.stopped, th.armed, len(th.listeners))
	}
	for w, resources := range th.waiting {
		if len(resources) > 0 {
			t.Errorf("%s waits with %v", w, resources)
		}
	}
}

// faults are those recorded, of one phase or of all.
func (th *theatre) faults(phase history.Phase) []history.Event {
	th.mu.Lock()
	defer th.mu.Unlock()
	var found []history.Event
	for _, e := range th.events {
		if phase == "" || e.Fault.Phase == phase {
			found = append(found, e)
		}
	}
	return found
}

// at is when a call was made, by its place among all; -1 if it was not.
func (th *theatre) at(prefix string) int {
	th.mu.Lock()
	defer th.mu.Unlock()
	return slices.IndexFunc(th.calls, func(call string) bool { return strings.HasPrefix(call, prefix) })
}

func ctxOf(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

var errTest = errors.New("it cannot be done")
