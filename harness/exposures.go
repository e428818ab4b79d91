package harness

import (
	"slices"
	"sync"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/nemesis"
)

// tally counts, while a cell runs, what decides when it may end. The verdict's
// own exposures are counted afterwards, from the history, by the checkers.
type tally struct {
	mu       sync.Mutex
	accepted map[string][]accepted // by resource
	grants   map[string]int64      // by resource: call of the latest acquisition (or write without a lock)
	late     int                   // writes sent by a grant after a newer one's write had been accepted
	lost     int                   // accepted writes that certainly overwrote one they had not seen
	writes   int
}

// accepted is a write that the store took.
type accepted struct{ grantCall, call, returned int64 }

func newTally() *tally {
	return &tally{accepted: map[string][]accepted{}, grants: map[string]int64{}}
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
	known := t.accepted[s.Resource]
	for i := len(known) - 1; i >= 0; i-- {
		if p.GrantReturn < known[i].grantCall && known[i].returned < p.Call {
			t.late++
			break
		}
	}
	if p.Outcome != history.OK {
		return
	}
	t.writes++
	if slices.ContainsFunc(known, func(w accepted) bool { return p.BasisReturn < w.call && w.returned < p.Call }) {
		t.lost++
	}
	if len(known) >= keep {
		known = known[keep/2:]
	}
	t.accepted[s.Resource] = append(known, accepted{p.GrantCall, p.Call, p.Return})
}

func (t *tally) lateWrites() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.late
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
