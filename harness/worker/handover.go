package worker

import (
	"sync"

	"github.com/torture-harness/torture/workloads"
)

// handover is the holder's side of a renewer in another process: a client that
// has handed its grant over waits until the renewer has prolonged the lease for
// the first time. A holder that was stopped on the way would else go on with a
// lease that nobody has kept alive.
type handover struct {
	say func(Report)

	mu      sync.Mutex
	waiting map[string]chan bool // by grant
	over    bool
}

// give hands a grant over. It reports whether its lease is being kept alive.
func (h *handover) give(held workloads.Held) bool {
	answer := make(chan bool, 1)
	h.mu.Lock()
	if h.over {
		h.mu.Unlock()
		return false
	}
	h.waiting[held.Grant] = answer
	h.mu.Unlock()
	h.say(Report{Say: sayHeld, Held: &held})
	return <-answer
}

// take takes it back.
func (h *handover) take(held workloads.Held) { h.say(Report{Say: sayDropped, Held: &held}) }

// answer passes on what the renewer said.
func (h *handover) answer(grant string, kept bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if waits := h.waiting[grant]; waits != nil {
		waits <- kept
		delete(h.waiting, grant)
	}
}

// end lets everybody go on who waits: no answer will come any more.
func (h *handover) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	for grant, waits := range h.waiting {
		waits <- false
		delete(h.waiting, grant)
	}
}
