package histories

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"slices"

	"github.com/torture-harness/torture/harness/history"
)

// WriteLines writes the history as a history.jsonl, in the order of the times
// and without holding it in memory. An error is one of w.
func (s Shape) WriteLines(w io.Writer) error {
	s = s.filled()
	out := bufio.NewWriterSize(w, 1<<20)
	enc := json.NewEncoder(out)
	head := s.header()
	if err := enc.Encode(history.Event{Type: history.TypeHeader, Time: 1, Header: &head}); err != nil {
		return err
	}
	all := make([]*resource, s.Resources)
	for i := range all {
		all[i] = s.resource(i)
	}
	var waiting []history.Event
	for turn, more := 0, true; more; turn++ {
		more = false
		for _, r := range all {
			if !r.more() {
				continue
			}
			more = true
			if r.updates > turn {
				continue // a victim took two turns
			}
			for _, op := range r.update() {
				waiting = append(waiting, invocation(op), completion(op))
			}
		}
		slices.SortStableFunc(waiting, func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })
		ready := len(waiting)
		if more {
			ready, _ = slices.BinarySearchFunc(waiting, start+int64(turn+1)*period, func(e history.Event, t int64) int { return cmp.Compare(e.Time, t) })
		}
		for _, e := range waiting[:ready] {
			if err := enc.Encode(e); err != nil {
				return err
			}
		}
		waiting = append(waiting[:0], waiting[ready:]...)
	}
	return out.Flush()
}

func invocation(o history.Operation) history.Event {
	e := history.Event{
		Type: history.TypeInvoke, Time: o.Call, Op: o.ID, Process: o.Process, Worker: o.Worker, Client: o.Client, Resource: o.Resource,
		Kind: o.Kind, Basis: o.Basis,
	}
	if o.Kind != history.Acquire {
		e.Grant, e.Token = o.Grant, o.Token
	}
	if o.Kind == history.Write {
		e.WriteID = o.WriteID
	}
	return e
}

func completion(o history.Operation) history.Event {
	e := history.Event{Type: history.TypeComplete, Time: o.Completed, Op: o.ID, Outcome: o.Outcome}
	switch o.Kind {
	case history.Acquire:
		e.Grant, e.Token, e.LeaseCall, e.LeaseTTL = o.Grant, o.Token, o.LeaseCall, o.LeaseTTL
	case history.Read:
		e.WriteID = o.WriteID
	}
	return e
}
