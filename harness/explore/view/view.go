// Package view cuts the history of an exploration into those of its schedules.
package view

import (
	"strings"

	"github.com/torture-harness/torture/harness/history"
)

// The kinds of fault in the history of an exploration. Their ids begin with the
// resource that they are for.
const (
	Stop  = "stop"
	Hold  = "hold-write"
	Lease = "lease" // its end: Armed before it is asked for, Healed once it is seen, Failed if it is not
)

// Of cuts the history of a cell into those of its resources: what happened in
// each schedule, as if nothing else had. Clients live in processes that play one
// schedule after the other; in a view a process has the name of its client.
func Of(h *history.History) map[string]*history.History {
	views := map[string]*history.History{}
	for _, resource := range h.Header.Resources {
		v := &history.History{File: h.File, Header: h.Header, Warnings: h.Warnings}
		v.Header.Resources, v.Header.Workers = []string{resource}, nil
		views[resource] = v
	}
	for _, op := range h.Operations {
		if v := views[op.Resource]; v != nil {
			op.Worker = ClientOf(op.Worker)
			v.Operations = append(v.Operations, op)
		}
	}
	for _, f := range h.Faults {
		resource, _, _ := strings.Cut(f.ID, "/")
		if v := views[resource]; v != nil {
			f.Victim = ClientOf(f.Victim)
			v.Faults = append(v.Faults, f)
		}
	}
	for _, e := range h.Events {
		e.Worker = ClientOf(e.Worker)
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

// WorkerName is the name of the process that plays a client in a place of the pool.
func WorkerName(place, client string) string { return place + "." + client }

// ClientOf is the client that a process plays.
func ClientOf(worker string) string { return worker[strings.LastIndexByte(worker, '.')+1:] }

// shorten takes the end of a lease that was forced for what it is: from the
// moment before the harness asked for it the holder had no right any more, and
// whoever is granted the lock then takes nothing from anybody.
func shorten(v *history.History) {
	for _, f := range v.Faults {
		if f.Kind != Lease || f.Phase != history.Armed {
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
