package checkers

import (
	"cmp"
	"math"
	"slices"

	"github.com/torture-harness/torture/harness/history"
)

// evidence is everything that was recorded about one resource, tied together.
type evidence struct {
	name     string
	grants   []*grant             // of the lock, by the return of their acquire
	attempts []*history.Operation // acquire operations of any outcome, by call
	writes   []*write             // of any outcome, by call
	reads    []*history.Operation // reads and claims that saw something, by call
	claims   []*history.Operation // of any outcome, by call
	byID     map[string]*write
	granted  map[string]*grant // by id
	wishes   []wish            // who wanted the lock and when, by beginning
	ordered  []*cluster        // once asked for
	handed   []exposure        // the handovers, once asked for
	limits   limits            // of searches through it
	gaveUp   string            // why the last of them came to nothing
	wrote    []*grant          // those of all writes by their returns, once asked for
	doubts   *doubts           // once asked for
}

// grant is one successful acquisition. Grants are ordered by real time only.
type grant struct {
	id     string
	client string
	worker string
	call   int64 // of the acquire which succeeded
	ret    int64
	token  int64
	wanted int64 // since when its client had wanted it
	// acquire is nil for a write without a lock: then the interval is that of
	// the read which the write was computed from.
	acquire *history.Operation
	under   []*history.Operation // what was done under it, by call
}

// olderThan is the only order between grants: overlapping ones have none.
func (g *grant) olderThan(h *grant) bool { return g.ret < h.call }

// write is a write together with what it was computed from.
type write struct {
	op    *history.Operation
	grant *grant
	basis *history.Operation // the read it was computed from
	// number is its place among the writes of the resource, from 1.
	number int32
	// effective: it took effect, as far as clients can know (see reduce).
	effective bool
	// ret is when it had taken effect at the latest; history.Never if unknown.
	ret int64
	// due is when it can have reached the store at the earliest: its call, or the
	// moment in which its request, held on the way until then, was let go.
	due int64
}

// arrive works out when the write can have reached the store.
func (w *write) arrive(delays *spans[history.Pause]) {
	w.due = w.op.Call
	for p := range delays.over(w.op.Return, w.op.Call) {
		if p.Delays(w.op) {
			w.due = max(w.due, p.To)
		}
	}
}

// sent: its request may have reached the store.
func (w *write) sent() bool { return w.op.Outcome != history.Fail }

// gather sorts a validated history by resource.
func gather(h *history.History) []*evidence {
	reads := history.NewReads()
	parts := map[string]*evidence{}
	part := func(name string) *evidence {
		if parts[name] == nil {
			parts[name] = &evidence{name: name, byID: map[string]*write{}, granted: map[string]*grant{}}
		}
		return parts[name]
	}
	for _, name := range h.Header.Resources {
		part(name)
	}
	for i := range h.Operations { // by call
		op := &h.Operations[i]
		e := part(op.Resource)
		reads.Add(op)
		switch op.Kind {
		case history.Acquire:
			e.attempts = append(e.attempts, op)
			if op.Outcome == history.OK {
				g := &grant{id: op.ID, client: op.Client, worker: op.Worker, call: op.Call, ret: op.Return, token: op.Token, acquire: op}
				e.grants, e.granted[op.ID] = append(e.grants, g), g
			}
			continue
		case history.Claim:
			e.claims = append(e.claims, op)
		}
		if op.Outcome == history.OK && (op.Kind == history.Read || op.Kind == history.Claim) && !h.Header.LeftOut(op.WriteID) {
			e.reads = append(e.reads, op)
		}
		g := e.granted[op.Grant] // an acquire is called before what is done under it
		if g != nil {
			g.under = append(g.under, op)
			if op.Kind == history.Draw && op.Outcome == history.OK {
				g.token = op.Token
			}
		}
		if op.Kind == history.Write {
			basis := reads.Basis(op)
			if g == nil {
				g = &grant{client: op.Client, worker: op.Worker, call: basis.Call, ret: basis.Return}
			}
			w := &write{op: op, grant: g, basis: basis, due: op.Call, number: int32(len(e.writes)) + 1}
			e.writes, e.byID[op.WriteID] = append(e.writes, w), w
		}
	}
	want := wantedBy(h)
	var all []*evidence
	for _, e := range parts {
		slices.SortStableFunc(e.grants, func(a, b *grant) int { return cmp.Compare(a.ret, b.ret) })
		reduce(e)
		e.wishes = wishes(e, want)
		for _, w := range e.wishes {
			if g := e.granted[w.grant]; g != nil {
				g.wanted = w.from
			}
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *evidence) int { return cmp.Compare(a.name, b.name) })
	return all
}

// reduce settles the unknown outcomes, exactly for the four models. Write ids
// are unique, so a write of unknown outcome that some read saw took effect
// before the first of these reads returned; one that nobody saw is left out,
// because placing it never makes anything else legal. Refused and failed
// writes have no effect and are always legal.
func reduce(e *evidence) {
	for _, w := range e.writes {
		w.ret, w.effective = w.op.Return, w.op.Outcome == history.OK
	}
	for _, r := range e.reads {
		if w := e.byID[r.WriteID]; w != nil && w.op.Outcome == history.Info {
			w.ret, w.effective = min(w.ret, r.Return), true
		}
	}
}

// size is how many operations Porcupine is given.
func (e *evidence) size() int {
	n := len(e.reads)
	for _, w := range e.writes {
		if w.effective {
			n++
		}
	}
	return n
}

const (
	past   = math.MinInt64
	future = math.MaxInt64
)
