package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/checkers/histories"
	"github.com/torture-harness/torture/harness/history"
)

// benchCase is a history and the property it is about.
type benchCase struct {
	name     string
	make     func() *history.History
	property checkers.Property
	alone    bool // plain Porcupine is not asked: it has given up on less
}

// reference is the case that ratios are relative to, judged by plain Porcupine.
const reference = "10,000 operations, green"

// Operations of one resource are reads and writes, which is all that Porcupine
// is given; as many acquires, attempts and releases are recorded besides. Those
// of 1,000 resources are all that is recorded.
var cases = []benchCase{
	{name: reference, make: one(10_000, 0)},
	{name: "100,000 operations, green", make: one(100_000, 0)},
	{name: "300,000 operations, green", make: one(300_000, 0)},
	{name: "1,000,000 operations, green", make: one(1_000_000, 0), alone: true},
	{name: "10,000 operations, one stale write", make: one(10_000, 1)},
	{name: "100,000 operations, one stale write", make: one(100_000, 1), alone: true},
	{name: "1,000,000 operations, one stale write", make: one(1_000_000, 1), alone: true},
	{name: "1,000 operations, 10 % unknown, one stale write", make: unseen(1_000, 10)},
	{name: "10,000 operations, 1 % unknown, one stale write", make: unseen(10_000, 100)},
	{name: "300,000 operations, 1 % unknown, one stale write", make: unseen(300_000, 100), alone: true},
	{name: "2,000 operations, 14 busy clients without a lock, one stale read", make: busy, property: checkers.Register},
	{name: "1,000 × 1,000 operations, green", make: many(0)},
	{name: "1,000 × 1,000 operations, ten stale writes", make: many(10)},
}

// one resource with n reads and writes and some stale writes.
func one(n, stale int) func() *history.History {
	return shape(histories.Shape{Operations: 2 * n, Stale: stale})
}

// many resources, some with a stale write.
func many(stale int) func() *history.History {
	return shape(histories.Shape{Resources: 1_000, Operations: 1_000, Unknown: 0.01, Stale: stale})
}

func shape(s histories.Shape) func() *history.History {
	return func() *history.History { return s.Make().History }
}

// unseen are n reads and writes of eight clients, one after the other. Every
// so-manieth write has an unknown outcome and did not take effect, so nobody
// ever sees it, and it may be put anywhere later. In the middle a holder of long
// ago writes over newer data.
func unseen(n, every int) func() *history.History {
	return func() *history.History {
		h := &history.History{File: "made", Header: history.Header{Schema: history.Schema, Locker: "etcd", LeaseBy: "etcd", Guard: "plain", Fault: "none", TTL: 1000, Resources: []string{"r"}}}
		process := map[string]int{}
		add := func(client string, kind history.Kind, call, ret int64) *history.Operation {
			h.Operations = append(h.Operations, history.Operation{
				ID: fmt.Sprint("o", len(h.Operations)), Client: client, Worker: client, Process: fmt.Sprint(client, "#", process[client]),
				Resource: "r", Kind: kind, Call: call, Return: ret, Completed: ret, Outcome: history.OK})
			return &h.Operations[len(h.Operations)-1]
		}
		acquire := func(client string, call int64) string {
			a := add(client, history.Acquire, call, call+1)
			a.Grant, a.LeaseCall, a.LeaseTTL = a.ID, call, 10
			return a.ID
		}
		current := history.InitialWrite
		read := func(client, grant string, call int64) string {
			r := add(client, history.Read, call, call+1)
			r.Grant, r.WriteID = grant, current
			return current
		}
		write := func(client, grant, basis string, call int64, unknown bool) {
			w := add(client, history.Write, call, call+4)
			w.Grant, w.WriteID, w.Basis = grant, w.ID, basis
			if unknown {
				w.Outcome, w.Return = history.Info, history.Never
				process[client]++
				return
			}
			current = w.ID
		}
		old := acquire("victim", 1)
		basis := read("victim", old, 3)
		now := int64(10)
		for i := range n/2 - 1 {
			client := fmt.Sprint("c", i%8)
			grant := acquire(client, now)
			write(client, grant, read(client, grant, now+2), now+4, i%every == every-1)
			now += 10
			if i == n/4 {
				write("victim", old, basis, now, false)
				now += 10
			}
		}
		return h
	}
}

func find(name string) (benchCase, error) {
	i := slices.IndexFunc(cases, func(c benchCase) bool { return c.name == name })
	if i < 0 {
		return benchCase{}, fmt.Errorf("there is no case %q", name)
	}
	c := cases[i]
	c.property = cmp.Or(c.property, checkers.StaleOverwrite)
	return c, nil
}

// busy clients read and write one register, all at once and without pause. The
// last read but one saw a newer value than the last.
func busy() *history.History {
	const clients, operations, length = 14, 2_000, 100
	rng := rand.New(rand.NewPCG(14, 2000))
	h := &history.History{File: "made", Header: history.Header{Schema: history.Schema, Locker: "none", Guard: "plain", Fault: "none", TTL: 1000, Resources: []string{"r"}}}
	type request struct {
		op *history.Operation
		at int64 // when the store does it
	}
	var all []request
	for c := range clients {
		now := int64(1 + rng.IntN(length))
		client := fmt.Sprintf("c%d", c)
		for i := range operations / clients {
			o := &history.Operation{ID: fmt.Sprintf("%s-%d", client, i), Process: client + "#1", Worker: client, Client: client, Resource: "r",
				Kind: history.Read, Call: now, Return: now + length/2 + rng.Int64N(length), Outcome: history.OK}
			if i%2 == 1 { // on what was read before
				o.Kind, o.WriteID = history.Write, o.ID
			}
			o.Completed, now = o.Return, o.Return+1
			all = append(all, request{o, o.Call + rng.Int64N(o.Return-o.Call)})
		}
	}
	slices.SortStableFunc(all, func(a, b request) int { return cmp.Compare(a.at, b.at) })
	current, end := history.InitialWrite, int64(0)
	saw := map[string]string{} // by client
	for _, r := range all {
		end = max(end, r.op.Return)
		if r.op.Kind == history.Write {
			r.op.Basis = saw[r.op.Client]
			current = r.op.ID
			continue
		}
		r.op.WriteID, saw[r.op.Client] = current, current
	}
	for _, r := range all {
		h.Operations = append(h.Operations, *r.op)
	}
	for i, id := range []string{current, history.InitialWrite} {
		call := end + int64(10*i) + 1
		h.Operations = append(h.Operations, history.Operation{ID: fmt.Sprint("late-", i), Process: "late#1", Client: "late", Resource: "r",
			Kind: history.Read, Call: call, Return: call + 5, Completed: call + 5, Outcome: history.OK, WriteID: id})
	}
	slices.SortStableFunc(h.Operations, func(a, b history.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return h
}
