package explore

import (
	"slices"

	"github.com/torture-harness/torture/harness/explore/view"
	"github.com/torture-harness/torture/harness/history"
)

// gather finds the moves of a schedule in its view.
func (f Forecast) gather(v *history.History) evidence {
	e := evidence{took: make([]took, len(f.Beats))}
	writer := map[string]string{history.InitialWrite: history.InitialWrite}
	for _, op := range v.Operations {
		if op.Kind == history.Write {
			writer[op.WriteID] = op.Worker
		}
	}
	for i, b := range f.Beats {
		op := find(v, Name(b.Client), b.Do)
		if op == nil {
			continue
		}
		e.took[i] = took{op: op.ID, outcome: op.Outcome, call: op.Call, return_: op.Completed,
			leaseCall: op.LeaseCall, leaseTTL: op.LeaseTTL, problem: op.Error}
		if op.Kind == history.Read || op.Kind == history.Claim {
			e.took[i].saw = writer[op.WriteID]
		}
	}
	spans := map[string]*span{}
	for _, fault := range v.Faults {
		if len(fault.Victim) != 1 {
			continue
		}
		client := int(fault.Victim[0] - 'A')
		switch fault.Phase {
		case history.Stopped, history.Held:
			spans[fault.ID] = &span{client: client, from: fault.Time, to: history.Never, threads: fault.Threads}
		case history.Resumed, history.Released:
			if s := spans[fault.ID]; s != nil {
				s.to = fault.Time
				if fault.Kind == view.Hold {
					e.holds = append(e.holds, *s)
				} else {
					e.stops = append(e.stops, *s)
				}
			}
		}
		if fault.Kind == view.Lease {
			e.ends = noteEnd(e.ends, client, fault)
		}
	}
	slices.SortFunc(e.stops, func(a, b span) int { return int(a.from - b.from) })
	return e
}

func noteEnd(ends []ended, client int, fault history.FaultEvent) []ended {
	i := slices.IndexFunc(ends, func(e ended) bool { return e.client == client })
	if i < 0 {
		ends = append(ends, ended{client: client})
		i = len(ends) - 1
	}
	switch fault.Phase {
	case history.Armed:
		ends[i].forced = fault.Time
	case history.Healed:
		ends[i].gone = true
	}
	return ends
}

// find is the operation that is a client's step: the first of its kind, or of an
// acquire the last attempt. What a client reads once its write was refused, to
// know why, comes behind its own read.
func find(v *history.History, worker string, kind history.Kind) *history.Operation {
	var found *history.Operation
	for i := range v.Operations {
		op := &v.Operations[i]
		if op.Worker != worker || op.Kind != kind {
			continue
		}
		if found = op; kind != history.Acquire {
			return op
		}
	}
	return found
}
