package claims

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

// Renewing is a separate process that prolongs the lease of another's grant
// every third of it, until it is stopped or is told that the lease is lost.
type Renewing struct {
	end  context.CancelFunc
	done chan struct{}

	mu       sync.Mutex
	answered []workloads.Done
	ended    *endScript // why it could not go on
}

// Renews has an actor, in a process of its own, renew the lease of another from
// now on.
func (s *Stage) Renews(r, of *Actor) *Renewing {
	r.Adopt(of)
	ctx, cancel := context.WithCancel(s.ctx)
	n := &Renewing{end: cancel, done: make(chan struct{})}
	s.Heal(n.Stop)
	go func() {
		defer close(n.done)
		n.run(ctx, r)
	}()
	return n
}

func (n *Renewing) run(ctx context.Context, r *Actor) {
	defer func() { // the script's own goroutine is another
		if end, ok := recover().(endScript); ok {
			n.mu.Lock()
			n.ended = &end
			n.mu.Unlock()
		}
	}()
	tick := time.NewTicker(r.stage.TTL / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		done := r.Renew()
		n.mu.Lock()
		n.answered = append(n.answered, done)
		n.mu.Unlock()
		if done.Outcome == history.Lost {
			return
		}
	}
}

// Stop ends it, and returns once its last request is answered.
func (n *Renewing) Stop() {
	n.end()
	<-n.done
}

// Acknowledged are the renewals that were acknowledged in this time. A renewer
// that could not go on ends the script.
func (n *Renewing) Acknowledged(from, to int64) (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended != nil {
		panic(*n.ended)
	}
	for _, d := range n.answered {
		if d.Outcome == history.OK && from < d.Call && d.Return < to {
			count++
		}
	}
	return count
}

// InTime reports whether no lease ended before the renewal of it was answered,
// the first of them at end: the renewer did what it is there for.
func (n *Renewing) InTime(end int64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return inTime(n.answered, end)
}

func inTime(renewals []workloads.Done, end int64) bool {
	for _, d := range renewals {
		if d.Outcome != history.OK || d.Return > end {
			return false
		}
		end = d.LeaseCall + d.LeaseTTL
	}
	return true
}

// Recorded are the operations of an actor's process that have ended by now, as
// it wrote them down itself. A process may do things by itself: renew, poll.
func (s *Stage) Recorded(a *Actor, kind history.Kind) []workloads.Done {
	calls := map[string]history.Event{}
	var ended []workloads.Done
	for _, e := range s.recorded(a) {
		switch call, called := calls[e.Op]; {
		case e.Type == history.TypeInvoke && e.Kind == kind:
			calls[e.Op] = e
		case e.Type == history.TypeComplete && called:
			ended = append(ended, workloads.Done{Op: e.Op, Kind: kind, Outcome: e.Outcome, Call: call.Time, Return: e.Time, LeaseCall: e.LeaseCall, LeaseTTL: e.LeaseTTL, Error: e.Error})
		}
	}
	return ended
}

// recorded is what an actor's process has written down by now.
func (s *Stage) recorded(a *Actor) (events []history.Event) {
	data, err := os.ReadFile(s.path("parts", a.Worker+".jsonl"))
	s.must(err, "read what "+a.Name+" has recorded")
	for line := range bytes.Lines(data) {
		var e history.Event
		if json.Unmarshal(line, &e) == nil { // the last line may be half written
			events = append(events, e)
		}
	}
	return events
}

// acknowledged counts those that ended well, and were answered in this time.
func acknowledged(all []workloads.Done, from, to int64) (n int) {
	for _, d := range all {
		if d.Outcome == history.OK && from < d.Return && d.Return < to {
			n++
		}
	}
	return n
}

// called reports whether the actor's process has written down that it calls
// something after a moment; the request goes out right behind that.
func (s *Stage) called(a *Actor, kind history.Kind, after int64) bool {
	return slices.ContainsFunc(s.recorded(a), func(e history.Event) bool {
		return e.Type == history.TypeInvoke && e.Kind == kind && e.Time > after
	})
}
