package checkers

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// cell is the evidence of one cell, tied together, as every checker sees it.
type cell struct {
	h         *history.History
	resources []*evidence
	journal   *journal // nil if there is none
	pauses    []history.Pause
	stops     spans[history.Pause]                // all of them
	delays    spans[history.Pause]                // those that only held requests
	victims   map[string]*victim                  // by worker
	asked     map[bool]*spans[*history.Operation] // operations of workers, by: the store is asked, not the lock
	kinds     map[history.Kind]bool               // of operations
	stalls    map[string]*spans[[2]int64]         // by worker
	fault     string
	locked    bool // there is a lock
	// lossAllowed: the fault or the guard may lose acknowledged writes, since
	// the contract does not promise durability.
	lossAllowed bool
	// registerViolated: the data cannot be trusted, so the models that build on
	// it say nothing.
	registerViolated bool
	budget           *budget
	parallel         int                                  // resources judged at once
	answers          map[*evidence]map[Property][2]answer // by the journal, by clients
}

// Faults whose name matters to a verdict.
const (
	none        = "none"         // nothing is done
	killWorker  = "kill-worker"  // workers end, none is stopped
	pauseServer = "pause-server" // servers are stopped, no worker is
)

// calm: no client is ever stopped and let go on, and no request of one held, so
// writes are late only by accident, and what is at risk is each handover.
func (c *cell) calm() bool {
	return c.fault == none || c.fault == killWorker || c.fault == pauseServer
}

func newCell(ctx context.Context, h *history.History, entries []history.JournalEntry, cfg Config) *cell {
	c := &cell{
		h: h, resources: gather(h), pauses: h.Pauses(),
		fault:       h.Header.Fault,
		locked:      h.Header.Locker != "" && h.Header.Locker != "none",
		lossAllowed: cfg.Contract.of(Durability) != Promised,
		answers:     map[*evidence]map[Property][2]answer{},
	}
	var l limits
	l, c.parallel = newLimits(ctx)
	for _, e := range c.resources {
		c.answers[e] = map[Property][2]answer{}
		e.limits = l
	}
	c.sortPauses()
	for _, e := range c.resources {
		for _, w := range e.writes {
			w.arrive(&c.delays)
		}
	}
	c.survey()
	if len(c.pauses) > 0 { // or nobody will ask
		c.exposeToPauses()
	}
	if entries != nil {
		c.journal = readJournal(entries, c.resources, c.lossAllowed)
	}
	c.budget = &budget{left: cfg.Budget, shares: len(models) * len(c.resources)}
	return c
}

func (c *cell) clusters(e *evidence) []*cluster {
	if e.ordered == nil {
		e.ordered = clusters(e)
	}
	return e.ordered
}

// each judges the resources, several at once, and returns what is said of them
// in their order. Each of them is judged by itself, so what it says does not
// depend on the others, nor on how many are judged at once.
func (c *cell) each(judge func(c *cell, e *evidence) reading) []reading {
	out := make([]reading, len(c.resources))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(c.parallel, len(c.resources)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(out); i = int(next.Add(1)) - 1 {
				out[i] = judge(c, c.resources[i])
			}
		})
	}
	workers.Wait()
	return out
}

// budget is the time that Porcupine may still take in this cell. Each search
// gets an equal share of what is left, so that one hopeless search does not
// take it from all others, or leastShare if that is more.
type budget struct {
	mu     sync.Mutex
	left   time.Duration
	shares int
}

// leastShare is much more than a search takes that comes to an end.
const leastShare = time.Second

func (b *budget) spend(search func(share time.Duration) answer) answer {
	b.mu.Lock()
	share := min(b.left, max(leastShare, b.left/time.Duration(max(b.shares, 1))))
	b.shares--
	b.mu.Unlock()
	start := time.Now()
	a := search(share)
	b.mu.Lock()
	b.left -= time.Since(start)
	b.mu.Unlock()
	return a
}

// outcome is what a checker found out about its property.
type outcome struct {
	verdict   Verdict
	reason    string // why it is not decided
	exposures []exposure
	culprits  []culprit
	decidedBy string
	hidden    int      // resources violated in the journal, unseen by clients
	errors    []string // contradictions that only a broken harness can produce

	counterexamples []Counterexample
}

// Checker judges one property of a cell.
type Checker interface {
	Property() Property
	Check(c *cell) outcome
}

// all checkers, in the order in which they work: register first.
func allCheckers() []Checker {
	var out []Checker
	for _, m := range models {
		out = append(out, m)
	}
	return append(out, leaseExclusion{exclusive}, tokenOrder{}, durability{}, progress{})
}
