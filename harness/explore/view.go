package explore

import (
	"slices"
	"strings"

	"github.com/torture-harness/torture/harness/history"
)

// The kinds of fault in the history of an exploration. Their ids begin with the
// resource that they are for.
const (
	stopFault  = "stop"
	holdFault  = "hold-write"
	leaseFault = "lease" // its end: Armed before it is asked for, Healed once it is seen, Failed if it is not
)

// Views cuts the history of a cell into those of its resources: what happened in
// each schedule, as if nothing else had. Clients live in processes that play one
// schedule after the other; in a view a process has the name of its client.
func Views(h *history.History) map[string]*history.History {
	views := map[string]*history.History{}
	for _, resource := range h.Header.Resources {
		v := &history.History{File: h.File, Header: h.Header, Warnings: h.Warnings}
		v.Header.Resources, v.Header.Workers = []string{resource}, nil
		views[resource] = v
	}
	for _, op := range h.Operations {
		if v := views[op.Resource]; v != nil {
			op.Worker = clientOf(op.Worker)
			v.Operations = append(v.Operations, op)
		}
	}
	for _, f := range h.Faults {
		resource, _, _ := strings.Cut(f.ID, "/")
		if v := views[resource]; v != nil {
			f.Victim = clientOf(f.Victim)
			v.Faults = append(v.Faults, f)
		}
	}
	for _, e := range h.Events {
		e.Worker = clientOf(e.Worker)
		switch {
		case e.Resource != "":
			if v := views[e.Resource]; v != nil {
				v.Events = append(v.Events, e)
			}
		case e.Type == history.TypeClock: // of all of them
			for _, v := range views {
				v.Events = append(v.Events, e)
			}
		}
	}
	for _, v := range views {
		shorten(v)
	}
	return views
}

// workerName is the name of the process that plays a client in a place of the pool.
func workerName(place string, client int) string { return place + "." + Name(client) }

// clientOf is the client that a process plays.
func clientOf(worker string) string { return worker[strings.LastIndexByte(worker, '.')+1:] }

// shorten takes the end of a lease that was forced for what it is: from the
// moment before the harness asked for it the holder had no right any more, and
// whoever is granted the lock then takes nothing from anybody.
func shorten(v *history.History) {
	for _, f := range v.Faults {
		if f.Kind != leaseFault || f.Phase != history.Armed {
			continue
		}
		for i := range v.Operations {
			op := &v.Operations[i]
			if op.Worker == f.Victim && op.LeaseTTL > 0 && op.LeaseCall < f.Time {
				op.LeaseTTL = min(op.LeaseTTL, f.Time-op.LeaseCall)
			}
		}
	}
}

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
				if fault.Kind == holdFault {
					e.holds = append(e.holds, *s)
				} else {
					e.stops = append(e.stops, *s)
				}
			}
		}
		if fault.Kind == leaseFault {
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
