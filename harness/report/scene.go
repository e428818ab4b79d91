package report

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// scene is what happened on one resource of one cell, ready to be told.
type scene struct {
	Header   history.Header
	Resource string
	Ops      []history.Operation // by call
	Journal  []history.JournalEntry
	Pauses   []history.Pause

	byID    map[string]*history.Operation
	version map[string]int // write id to its place in the journal; the initial write is 0
	offset  int64          // wall clock minus monotonic clock, ns; 0 if not known
	turns   map[string]*turn
}

// turn is one client's way through the lock, from getting it to giving it
// back; without a lock, from its read to the write computed from it.
type turn struct {
	Worker  string
	Acquire *history.Operation // nil without a lock
	Release *history.Operation // nil if it never got to it
	Ops     []*history.Operation
	Begin   int64 // ns, when it had the lock or, without one, had read
	End     int64 // ns, its release's call or its last return
}

func newScene(h *history.History, journal []history.JournalEntry, resource string) *scene {
	s := &scene{
		Header:   h.Header,
		Resource: resource,
		Pauses:   h.Pauses(),
		byID:     map[string]*history.Operation{},
		version:  map[string]int{history.InitialWrite: 0},
		turns:    map[string]*turn{},
	}
	for _, op := range h.Operations {
		if op.Resource == resource {
			s.Ops = append(s.Ops, op)
		}
	}
	for _, e := range h.Events {
		if e.Type == history.TypeClock {
			s.offset = e.Offset
			break
		}
	}
	for _, e := range journal {
		if e.Resource == resource {
			s.Journal = append(s.Journal, e)
			s.version[e.WriteID] = len(s.Journal)
		}
	}
	ops := make([]*history.Operation, len(s.Ops))
	for i := range s.Ops {
		ops[i], s.byID[s.Ops[i].ID] = &s.Ops[i], &s.Ops[i]
	}
	reads := history.NewReads()
	for _, op := range ops {
		reads.Add(op)
		if op.Grant != "" {
			s.turn(op.Grant).add(op)
		} else if op.Kind == history.Write {
			t := s.turn(op.ID)
			if read := reads.Basis(op); read != nil {
				t.add(read)
			}
			t.add(op)
		}
	}
	return s
}

func (s *scene) turn(id string) *turn {
	if s.turns[id] == nil {
		s.turns[id] = &turn{Begin: math.MaxInt64}
	}
	return s.turns[id]
}

func (t *turn) add(op *history.Operation) {
	t.Worker = op.Worker
	t.Ops = append(t.Ops, op)
	switch {
	case op.Kind == history.Acquire:
		t.Acquire, t.Begin = op, op.Return
	case t.Acquire == nil && (op.Kind == history.Read || op.Kind == history.Claim):
		t.Begin = min(t.Begin, op.Return)
	case op.Kind == history.Release:
		t.Release, t.End = op, op.Call
	}
	if t.Release == nil {
		t.End = max(t.End, ended(op))
	}
}

// of is the turn that an operation belongs to, nil if it is of none.
func (s *scene) of(op *history.Operation) *turn {
	if op == nil {
		return nil
	}
	if op.Grant != "" {
		return s.turns[op.Grant]
	}
	return s.turns[op.ID]
}

// write finds the operation that sent a write.
func (s *scene) write(id string) *history.Operation {
	if op := s.byID[id]; op != nil && op.Kind == history.Write {
		return op
	}
	for i := range s.Ops {
		if op := &s.Ops[i]; op.Kind == history.Write && op.WriteID == id {
			return op
		}
	}
	return nil
}

// accepted is when the store accepted a write, in ns: by the store's own clock
// as far as that can be mapped to ours, but never outside of the operation.
func (s *scene) accepted(e history.JournalEntry) (int64, bool) {
	at := int64(math.MinInt64)
	if t, err := time.Parse(time.RFC3339Nano, e.Time); err == nil && s.offset != 0 {
		at = t.UnixNano() - s.offset
	}
	op := s.write(e.WriteID)
	switch {
	case op == nil:
		return at, at != math.MinInt64
	case at == math.MinInt64:
		return ended(op), true
	}
	return min(max(at, op.Call), ended(op)), true
}

// older says whether t was over, as a grant, before u began: by real time
// alone, as the checkers see it.
func (t *turn) older(u *turn) bool {
	if u.Acquire != nil {
		return t.Begin < u.Acquire.Call
	}
	return t.Begin < u.Begin
}

// lease is when the turn's lease began and when it would end by its length
// alone, in ns. A renewal that was answered counts. ok is false without one.
func (t *turn) lease() (from, to int64, ok bool) {
	for _, op := range t.Ops {
		if op.Outcome != history.OK || op.LeaseTTL == 0 {
			continue
		}
		if !ok {
			from, ok = op.LeaseCall, true
		}
		to = max(to, op.LeaseCall+op.LeaseTTL)
	}
	return from, to, ok
}

// token is the fencing token of the turn, 0 without one.
func (t *turn) token() int64 {
	if t.Acquire == nil {
		return 0
	}
	return t.Acquire.Token
}

// pauses are the stops of the turn's worker during it, and the delays of what it
// sent for this resource.
func (s *scene) pauses(t *turn) []history.Pause {
	var found []history.Pause
	for _, p := range s.Pauses {
		if p.Worker == t.Worker && p.From < t.End && p.To > t.Begin && (!p.Delay || p.Bytes[s.Resource] > 0) {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b history.Pause) int { return cmp.Compare(a.From, b.From) })
	return found
}

// gone is the latest moment at which the turn's lease can have ended: etcd
// looks for expired leases now and then, so theirs end up to 1 s late, but in
// any case before somebody else gets the lock.
func (s *scene) gone(t *turn) int64 {
	_, to, _ := t.lease()
	if s.Header.LeaseBy != "etcd" {
		return to
	}
	latest := to + int64(time.Second)
	for _, u := range s.turns {
		if u.Acquire != nil && u.Acquire.Return > to {
			latest = min(latest, u.Acquire.Return)
		}
	}
	return latest
}

// ended is when an operation was over for its client, in ns: its return; if the
// outcome is unknown, when that became clear.
func ended(op *history.Operation) int64 {
	if op.Return == history.Never {
		return max(op.Completed, op.Call)
	}
	return op.Return
}
