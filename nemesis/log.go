package nemesis

import (
	"context"
	"sync"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// log is what clients told during one fault, and a way to wait for it.
type log struct {
	mu      sync.Mutex
	seen    []Seen
	changed chan struct{} // has room for one wake-up
}

func newLog() *log { return &log{changed: make(chan struct{}, 1)} }

func (l *log) add(s Seen) {
	if s.Progress != nil && s.Progress.Kind != history.Write {
		return // nobody asks for it
	}
	l.mu.Lock()
	l.seen = append(l.seen, s)
	l.mu.Unlock()
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// await returns true once cond holds, or false after most or the end of ctx.
// cond is asked after everything that was told, and now and then, for it may
// depend on the time.
func (l *log) await(ctx context.Context, most time.Duration, cond func() bool) bool {
	end := time.NewTimer(most)
	defer end.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if cond() {
			return true
		}
		select {
		case <-l.changed:
		case <-tick.C:
		case <-end.C:
			return cond()
		case <-ctx.Done():
			return false
		}
	}
}

func (l *log) find(match func(Seen) bool) (Seen, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.seen {
		if match(s) {
			return s, true
		}
	}
	return Seen{}, false
}

// arrivedAt lists the resources whose client in worker waits at point.
func (l *log) arrivedAt(worker, point string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var resources []string
	for _, s := range l.seen {
		if s.Worker == worker && s.Point == point {
			resources = append(resources, s.Resource)
		}
	}
	return resources
}

// heldSince is when a client of another worker began to wait at point, 0 if
// none does.
func (l *log) heldSince(resource, victim, point string) int64 {
	s, _ := l.find(func(s Seen) bool { return s.Worker != victim && s.Resource == resource && s.Point == point })
	return s.Time
}

// newerWrite is when a write was accepted by a grant that another worker got
// after from, 0 if there is none.
func (l *log) newerWrite(resource, victim string, from int64) int64 {
	s, _ := l.find(func(s Seen) bool {
		return s.Worker != victim && s.Resource == resource && s.Progress != nil &&
			s.Progress.Kind == history.Write && s.Progress.Outcome == history.OK && s.Progress.GrantCall > from
	})
	return s.Time
}

// writeAfter reports whether a write that worker sent after from has been answered.
func (l *log) writeAfter(resource, worker string, from int64) bool {
	_, ok := l.find(func(s Seen) bool {
		return s.Worker == worker && s.Resource == resource && s.Progress != nil &&
			s.Progress.Kind == history.Write && s.Progress.Call > from
	})
	return ok
}

// answeredAfter reports whether a write of worker was answered after a moment,
// whenever it was sent.
func (l *log) answeredAfter(resource, worker string, at int64) bool {
	_, ok := l.find(func(s Seen) bool {
		return s.Worker == worker && s.Resource == resource && s.Progress != nil &&
			s.Progress.Kind == history.Write && s.Progress.Return > at
	})
	return ok
}
