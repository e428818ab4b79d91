package harness

import (
	"slices"
	"sync"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/nemesis"
	"github.com/torture-harness/torture/workloads"
)

// tally counts, while a cell runs, what decides when it may end. The verdict's
// own exposures are counted afterwards, from the history, by the checkers.
type tally struct {
	mu       sync.Mutex
	accepted map[string][]accepted // by resource
	grants   map[string]int64      // by resource: call of the latest acquisition (or write without a lock)
	released map[string]int64      // by worker/resource: when its request, held until then, was let go
	pauses   int                   // of servers, over
	late     int                   // writes sent, or let go, by a grant after a newer one's write had been accepted
	lost     int                   // accepted writes that certainly overwrote one they had not seen
	writes   int
}

// accepted is a write that the store took.
type accepted struct{ grantCall, sent, returned int64 }

func newTally() *tally {
	return &tally{accepted: map[string][]accepted{}, grants: map[string]int64{}, released: map[string]int64{}}
}

// fault notes what a fault says of itself.
func (t *tally) fault(e history.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch f := e.Fault; {
	case f.Phase == history.Released:
		for resource := range f.Bytes {
			t.released[f.Victim+"/"+resource] = e.Time
		}
	case f.Phase == history.Healed && f.Kind == workloads.FaultPauseServer:
		t.pauses++
	}
}

// keep is how many accepted writes of a resource are remembered: more than can
// happen during one pause.
const keep = 4096

func (t *tally) add(s nemesis.Seen) {
	p := s.Progress
	if p == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.grants[s.Resource] = max(t.grants[s.Resource], p.GrantCall)
	if p.Kind != history.Write {
		return
	}
	sent := p.Call
	if due := t.released[s.Worker+"/"+s.Resource]; sent < due && due < p.Return {
		sent = due
	}
	known := t.accepted[s.Resource]
	for i := len(known) - 1; i >= 0; i-- {
		if p.GrantReturn < known[i].grantCall && known[i].returned < sent {
			t.late++
			break
		}
	}
	if p.Outcome != history.OK {
		return
	}
	t.writes++
	if slices.ContainsFunc(known, func(w accepted) bool { return p.BasisReturn < w.sent && w.returned < sent }) {
		t.lost++
	}
	if len(known) >= keep {
		known = known[keep/2:]
	}
	t.accepted[s.Resource] = append(known, accepted{p.GrantCall, sent, p.Return})
}

func (t *tally) lateWrites() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.late
}

func (t *tally) serverPauses() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pauses
}

func (t *tally) lostUpdates() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost
}

func (t *tally) written() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.writes
}

// grantedSince reports whether every resource has been granted anew after at.
func (t *tally) grantedSince(at int64, resources []string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range resources {
		if t.grants[r] <= at {
			return false
		}
	}
	return true
}
