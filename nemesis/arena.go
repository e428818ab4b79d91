// Package nemesis does the faults, one file each, and draws their schedule from
// a seed. It decides no verdict: what a fault achieved is computed from the
// history.
package nemesis

import (
	"context"
	"time"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

// Seen is one thing that a client told: that it waits at a Point, or the
// Progress of an operation.
type Seen struct {
	Worker   string
	Resource string
	Time     int64 // ns, CLOCK_MONOTONIC, when it happened
	Point    string
	Progress *workloads.Progress
}

// Processes stops, continues, kills and replaces workers.
type Processes interface {
	// Stop returns once the stop is proven, with the number of threads seen stopped.
	Stop(ctx context.Context, worker string) (threads int, err error)
	Continue(ctx context.Context, worker string) error
	Kill(ctx context.Context, worker string) error
	// Replace starts a worker in place of a killed one and returns its name.
	Replace(ctx context.Context) (string, error)
}

// Points makes clients wait. A worker that is stopped hears it at its resume.
type Points interface {
	Arm(worker, point string, resources []string) error
	Disarm(worker string) error
	Go(worker string, resources []string) error
}

// Watcher tells what clients do.
type Watcher interface {
	Listen(func(Seen)) (stop func())
	Alive() []string
}

// Wire is what lies between the clients and the store, in cells whose fault
// needs it.
type Wire interface {
	// Hold keeps whatever the clients of a worker for these resources send to the
	// store from now on.
	Hold(worker string, resources []string)
	// AwaitHeld returns once a request of each is held, or at the end of ctx:
	// resource to bytes, of those that have some.
	AwaitHeld(ctx context.Context, worker string, resources []string) map[string]int
	// Held is what of a worker's is held now: resource to bytes.
	Held(worker string) map[string]int
	// Release forwards all of a worker's that is held.
	Release(worker string)
}

// Servers stops what the strategy stands on.
type Servers interface {
	// Kinds lists what there is: redis, etcd, postgres.
	Kinds() []string
	// Pick names a server of a kind: the n-th, counted round, or of etcd the
	// leader of this moment.
	Pick(ctx context.Context, kind string, n int) (string, error)
	// Stop returns once the stop is proven.
	Stop(ctx context.Context, server string) error
	// Continue returns once the server takes writes again.
	Continue(ctx context.Context, server string) error
}

// Arena is the cell in which a fault is done.
type Arena struct {
	Processes
	Points
	Watcher
	Wire      Wire    // nil if the clients reach the store directly
	Servers   Servers // nil if none may be stopped
	Record    func(history.Event)
	Resources []string
	Point     string        // where holders are aimed at
	TTL       time.Duration // the lease
	Seed      uint64
	Enough    <-chan struct{} // closed when no further fault is wanted
}

// done reports whether no further fault is wanted.
func (a *Arena) done() bool {
	select {
	case <-a.Enough:
		return true
	default:
		return false
	}
}

// ttl is a fraction of the lease.
func (a *Arena) ttl(fraction float64) time.Duration {
	return time.Duration(fraction * float64(a.TTL))
}

// fault records one moment of a fault.
func (a *Arena) fault(at int64, f history.Fault) {
	a.Record(history.Event{Type: history.TypeFault, Time: at, Worker: f.Victim, Fault: &f})
}

// pause waits for d, until no further fault is wanted, or ctx ends.
func (a *Arena) pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-a.Enough:
	case <-ctx.Done():
	}
}

// Fault is one thing that can be done to a cell.
type Fault interface {
	// Name is how it is asked for.
	Name() string
	// About is one line for people.
	About() string
	// Run does it, again and again, until the arena has Enough; when it returns
	// everything is healed, also after an error or the end of ctx.
	Run(ctx context.Context, a *Arena) error
}

// Faults lists all of them, one line each.
var Faults = []Fault{None{}, PauseHolder{}, PauseRandom{}, DelayWrite{}, PauseServer{}, KillWorker{}}

// ByName finds a fault.
func ByName(name string) (Fault, bool) {
	for _, f := range Faults {
		if f.Name() == name {
			return f, true
		}
	}
	return nil, false
}

// Names lists the faults.
func Names() []string {
	var names []string
	for _, f := range Faults {
		names = append(names, f.Name())
	}
	return names
}
