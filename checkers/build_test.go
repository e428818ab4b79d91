package checkers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// Test histories are written one operation a line. Times are milliseconds, the
// resource is r00 unless said otherwise, client "A" is the only one of worker
// "A". The id of an acquire is its grant, the id of a write its write id.

const ms = int64(time.Millisecond)

type op = history.Operation

func at(client string, kind history.Kind, id string, call, ret int64) op {
	return op{
		ID: id, Worker: client, Client: client, Resource: "r00", Kind: kind,
		Call: call * ms, Return: ret * ms, Completed: ret * ms, Outcome: history.OK,
	}
}

// acquires is a grant with a lease of 10 ms.
func acquires(client, id string, call, ret int64) op {
	o := at(client, history.Acquire, id, call, ret)
	o.Grant, o.LeaseCall, o.LeaseTTL = id, o.Call, 10*ms
	return o
}

func reads(client string, call, ret int64, saw string) op {
	o := at(client, history.Read, fmt.Sprintf("%s-read-%d", client, call), call, ret)
	o.WriteID = saw
	return o
}

func claims(client, grant string, call, ret int64, saw string) op {
	o := at(client, history.Claim, fmt.Sprintf("%s-claim-%d", client, call), call, ret)
	o.Grant, o.WriteID = grant, saw
	return o
}

func writes(client, grant, id, basis string, call, ret int64) op {
	o := at(client, history.Write, id, call, ret)
	o.Grant, o.WriteID, o.Basis = grant, id, basis
	return o
}

func renews(client, grant string, call, ret int64) op {
	o := at(client, history.Renew, fmt.Sprintf("%s-renew-%d", client, call), call, ret)
	o.Grant, o.LeaseCall = grant, o.Call
	return o
}

func releases(client, grant string, call, ret int64) op {
	o := at(client, history.Release, fmt.Sprintf("%s-release-%d", client, call), call, ret)
	o.Grant = grant
	return o
}

func observed(call, ret int64, saw string) op {
	o := reads(history.Observer, call, ret, saw)
	o.Worker = ""
	return o
}

func as(outcome history.Outcome, o op) op {
	o.Outcome = outcome
	if outcome == history.Info {
		o.Return = history.Never
	}
	if outcome != history.OK {
		switch o.Kind {
		case history.Acquire:
			o.Grant, o.LeaseCall, o.LeaseTTL = "", 0, 0
		case history.Read, history.Claim:
			o.WriteID = ""
		}
	}
	return o
}

func unknownOp(o op) op { return as(history.Info, o) }
func rejected(o op) op  { return as(history.Rejected, o) }
func failed(o op) op    { return as(history.Fail, o) }
func lost(o op) op      { return as(history.Lost, o) }

func token(n int64, o op) op { o.Token = n; return o }

func lease(ttl int64, o op) op { o.LeaseTTL = ttl * ms; return o }

func in(resource string, o op) op { o.Resource = resource; return o }

// recorded makes a history of operations in any order: processes get their
// numbers and names, ids of one client stay unique over resources.
func recorded(ops ...op) *history.History {
	h := &history.History{File: "test", Header: history.Header{
		Schema: history.Schema, Strategy: "test", Fault: "pause-holder", Locker: "etcd", Guard: "plain",
		LeaseBy: "etcd", TTL: 1000 * ms,
	}}
	ops = slices.Clone(ops)
	slices.SortStableFunc(ops, func(a, b op) int { return cmp.Compare(a.Call, b.Call) })
	incarnation := map[string]int{}
	for i := range ops {
		o := &ops[i]
		o.Client += "/" + o.Resource
		if o.Process == "" {
			o.Process = fmt.Sprintf("%s#%d", o.Client, incarnation[o.Client]+1)
		}
		if o.Outcome == history.Info {
			incarnation[o.Client]++
		}
		if !slices.Contains(h.Header.Resources, o.Resource) {
			h.Header.Resources = append(h.Header.Resources, o.Resource)
		}
		if o.Worker != "" && !slices.Contains(h.Header.Workers, o.Worker) {
			h.Header.Workers = append(h.Header.Workers, o.Worker)
		}
		o.Line, o.End = 2*i+2, 2*i+3
	}
	h.Operations = ops
	return h
}

// accepted is a journal of these writes in this order.
func accepted(h *history.History, ids ...string) []history.JournalEntry {
	entries := []history.JournalEntry{}
	for i, id := range ids {
		entry := history.JournalEntry{Seq: int64(i + 1), Resource: "r00", WriteID: id, Basis: history.InitialWrite}
		for _, o := range h.Operations {
			if o.Kind == history.Write && o.WriteID == id {
				entry.Resource, entry.Grant, entry.Basis = o.Resource, o.Grant, o.Basis
			}
		}
		entries = append(entries, entry)
	}
	return entries
}

// paused adds a pause of a worker, aimed if point is not "".
func paused(h *history.History, id, worker, point string, from, to int64) {
	f := history.Fault{ID: id, Kind: "pause", Victim: worker, Point: point}
	stopped, resumed := f, f
	stopped.Phase, stopped.Threads, resumed.Phase = history.Stopped, 8, history.Resumed
	h.Faults = append(h.Faults,
		history.FaultEvent{Fault: stopped, Time: from * ms},
		history.FaultEvent{Fault: resumed, Time: to * ms})
}

// judged judges with a minimum of one exposure unless cfg says otherwise.
func judged(t *testing.T, h *history.History, journal []history.JournalEntry, cfg Config) Judgement {
	t.Helper()
	cfg.MinExposures = cmp.Or(cfg.MinExposures, 1)
	j, err := Judge(context.Background(), h, journal, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// attempt is one try for the lock, of a millisecond.
func attempt(client string, call int64) op {
	return acquires(client, client+"-try-"+itoa(call), call, call+1)
}

// by is an operation done by another process on behalf of the client.
func by(process string, o op) op { o.Process = process; return o }
