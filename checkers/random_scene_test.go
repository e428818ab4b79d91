package checkers

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/torture-harness/torture/harness/history"
)

// scene is a random cell with everything in it that a judgement looks at: two
// resources, data in r00 and a lock in r01, under one fault, with claims, pauses
// at breakpoints, delays, wishes, stalls, and now and then a worker that is
// killed.
func scene(rng *rand.Rand) (*history.History, []history.JournalEntry) {
	g := generate(rng)
	for g.h.Validate() != nil {
		g = generate(rng)
	}
	locks := generateLeases(rng)
	for locks.Header.LeaseBy != "etcd" {
		locks = generateLeases(rng)
	}
	h := &history.History{File: "scene", Header: history.Header{
		Schema: history.Schema, Strategy: "random", Locker: pick1(rng, "etcd", "etcd", "etcd", "none"), LeaseBy: "etcd", Tokens: rng.IntN(3) > 0,
		Fault: pick1(rng, "none", "kill-worker", "pause-server", "pause-holder", "pause-holder", "pause-random", "delay-write"),
		Guard: pick1(rng, guards...), TTL: 1 + rng.Int64N(12), Resources: []string{"r00", "r01"}, Workers: []string{"A", "B", "C"},
	}}
	for _, o := range g.h.Operations {
		if o.Kind == history.Read && o.Grant != "" && rng.IntN(2) == 0 {
			o.Kind = history.Claim
		}
		h.Operations = append(h.Operations, o)
	}
	for _, o := range locks.Operations {
		o.ID, o.Client, o.Process, o.Resource = "L"+o.ID, o.Client+"/r01", "L"+o.Process, "r01"
		if o.Grant != "" {
			o.Grant = "L" + o.Grant
		}
		if o.Kind == history.Release && rng.IntN(3) == 0 {
			o.Kind, o.Outcome = history.Check, cmp.Or(map[history.Outcome]history.Outcome{history.Info: history.OK}[o.Outcome], o.Outcome)
			o.Return = o.Completed
		}
		h.Operations = append(h.Operations, o)
	}
	slices.SortStableFunc(h.Operations, func(a, b op) int { return cmp.Compare(a.Call, b.Call) })

	worker := func() string { return h.Header.Workers[rng.IntN(3)] }
	for i := range rng.IntN(4) {
		from := rng.Int64N(20)
		f := history.Fault{ID: fmt.Sprint("f", i), Kind: h.Header.Fault, Victim: worker(), Phase: history.Stopped, Threads: 3,
			Point: pick1(rng, "", "", "P2", "P3", "P4", "P7", "P8", "between")}
		if f.Kind == "pause-server" {
			f.Victim = pick1(rng, "postgres", "etcd-1")
		}
		end := history.Resumed
		if rng.IntN(4) == 0 {
			f.Phase, end = history.Held, history.Released
			f.Bytes = map[string]int{"r00": 100, "r01": rng.IntN(2)}
		}
		h.Faults = append(h.Faults, history.FaultEvent{Fault: f, Time: from + 1})
		f.Phase = end
		h.Faults = append(h.Faults, history.FaultEvent{Fault: f, Time: from + 2 + rng.Int64N(20)})
	}
	for range rng.IntN(5) {
		w := worker()
		e := history.Event{Time: 1 + rng.Int64N(40), Worker: w, Client: w + "/r01", Resource: "r01"}
		switch rng.IntN(5) {
		case 0, 1:
			e.Type = history.TypeWant
		case 2:
			e.Type = history.TypeGiveUp
		case 3:
			e.Type, e.Gap = history.TypeStall, 1+rng.Int64N(20)
		case 4:
			e.Type, e.Status = history.TypeWorker, pick1(rng, "killed", "exited")
		}
		h.Events = append(h.Events, e)
	}
	slices.SortStableFunc(h.Events, func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })
	if !g.sound || rng.IntN(3) == 0 {
		return h, nil
	}
	return h, accepted(h, g.order...)
}

func pick1[T any](rng *rand.Rand, all ...T) T { return all[rng.IntN(len(all))] }

// guards is one of each rule of refusal, and one that nobody knows.
var guards = []string{"claim", "etcd-txn", "fenced", "fenced-le", "homemade", "idempotency", "owner-cas", "plain", "version"}
