// Package histories makes big labelled histories for tests and benchmarks: a
// lock that goes from client to client, and what they write under it.
package histories

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/torture-harness/torture/harness/history"
)

// Shape says what a history looks like. One update is up to six operations: a
// failed attempt of the client who comes next, the acquire, the read, the write,
// the release, and a read of the observer while the write is under way. All of
// it is drawn from Seed; the same shape always gives the same history.
type Shape struct {
	Resources  int     // 0 means 1; each has clients of its own
	Operations int     // recorded operations per resource, exceeded by less than one update
	Clients    int     // per resource; 0 means 8
	Unknown    float64 // share of writes whose outcome is unknown; nine in ten took effect and are seen
	Paused     float64 // share of updates whose answer comes late, while others go on
	Stale      int     // so many resources have one stale write, in their middle: the first ones
	Seed       uint64
}

// Made is a history with what is known about it. Without a stale write all four
// models hold on a resource; with one, only register does.
type Made struct {
	History *history.History
	Journal []history.JournalEntry
	Stale   []string // ids of the stale writes
}

// Times of an update in ns, from its beginning. All stamps are at most jitter
// later, so some of them are equal.
const (
	period = 16
	start  = 1000 // of the first update; before it the victims take their locks
	jitter = 2
)

func (s Shape) filled() Shape {
	s.Resources, s.Clients = cmp.Or(s.Resources, 1), cmp.Or(s.Clients, 8)
	return s
}

func (s Shape) header() history.Header {
	h := history.Header{
		Schema: history.Schema, Run: "made", Strategy: "made", Fault: "none", Locker: "etcd", Guard: "plain",
		LeaseBy: "etcd", Tokens: true, TTL: 1000, Workers: []string{"victim"}, Seed: int64(s.Seed),
	}
	for i := range s.Resources {
		h.Resources = append(h.Resources, resourceName(i))
	}
	for i := range s.Clients {
		h.Workers = append(h.Workers, fmt.Sprintf("w%d", i))
	}
	return h
}

func resourceName(i int) string { return fmt.Sprintf("r%03d", i) }

// Make makes the history in memory.
func (s Shape) Make() Made {
	s = s.filled()
	m := Made{History: &history.History{File: "made", Header: s.header()}}
	for i := range s.Resources {
		r := s.resource(i)
		for r.more() {
			m.History.Operations = append(m.History.Operations, r.update()...)
		}
		m.Journal = append(m.Journal, r.journal...)
		if r.stale != "" {
			m.Stale = append(m.Stale, r.stale)
		}
	}
	slices.SortStableFunc(m.History.Operations, func(a, b history.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return m
}

// resource makes the operations of one resource, update by update.
type resource struct {
	Shape
	name    string
	rng     *rand.Rand
	made    int // operations
	updates int
	current string
	token   int64
	clients []client
	victim  history.Operation // its acquire
	staleAt int               // made operations; 0 means never, or done
	stale   string            // its write, once done
	journal []history.JournalEntry
}

type client struct {
	name, worker string
	incarnation  int
}

func (s Shape) resource(i int) *resource {
	r := &resource{Shape: s, name: resourceName(i), rng: rand.New(rand.NewPCG(s.Seed, uint64(i))), current: history.InitialWrite}
	for k := range s.Clients {
		worker := fmt.Sprintf("w%d", k)
		r.clients = append(r.clients, client{name: worker + "/" + r.name, worker: worker, incarnation: 1})
	}
	if i < s.Stale {
		r.staleAt = max(s.Operations/2, 1)
	}
	return r
}

func (r *resource) more() bool { return r.made < r.Operations || r.staleAt > 0 }

func (r *resource) operation(c *client, kind history.Kind, call, ret int64) history.Operation {
	r.made++
	return history.Operation{
		ID: fmt.Sprintf("%s-%d", r.name, r.made), Process: fmt.Sprintf("%s#%d", c.name, c.incarnation), Worker: c.worker, Client: c.name,
		Resource: r.name, Kind: kind, Call: call, Return: ret, Completed: ret, Outcome: history.OK,
	}
}

func (r *resource) acquire(c *client, call, ret int64) history.Operation {
	r.token++
	a := r.operation(c, history.Acquire, call, ret)
	a.Grant, a.Token, a.LeaseCall, a.LeaseTTL = a.ID, r.token, a.Call, ret-call
	return a
}

func (r *resource) read(c *client, grant string, call, ret int64, saw string) history.Operation {
	o := r.operation(c, history.Read, call, ret)
	o.Grant, o.WriteID = grant, saw
	return o
}

func (r *resource) write(c *client, a history.Operation, basis string, call, ret int64) history.Operation {
	w := r.operation(c, history.Write, call, ret)
	w.Grant, w.Token, w.WriteID, w.Basis = a.ID, a.Token, w.ID, basis
	return w
}

func (r *resource) apply(w history.Operation) {
	r.current = w.WriteID
	r.journal = append(r.journal, history.JournalEntry{
		Seq: int64(len(r.journal) + 1), Resource: r.name, WriteID: w.WriteID, Grant: w.Grant, Basis: w.Basis, LastFence: w.Token,
	})
}

// update is the next turn of the next client. In the first one the victim takes
// its lock and reads, in the middle one it writes.
func (r *resource) update() []history.Operation {
	v := client{name: "victim/" + r.name, worker: "victim", incarnation: 1}
	var out []history.Operation
	if r.staleAt > 0 && r.updates == 0 {
		r.victim = r.acquire(&v, 1, 2)
		out = append(out, r.victim, r.read(&v, r.victim.ID, 3, 4, history.InitialWrite))
	}
	t := start + int64(r.updates)*period
	out = append(out, r.turn(t)...)
	if r.staleAt == 0 || r.made < r.staleAt {
		return out
	}
	late := r.write(&v, r.victim, history.InitialWrite, t+period, t+period+5)
	r.apply(late)
	r.stale, r.staleAt = late.WriteID, 0
	r.updates++ // it took the next client's turn
	return append(out, late)
}

func (r *resource) turn(t int64) []history.Operation {
	at := func(offset int64) int64 { return t + offset + r.rng.Int64N(jitter+1) }
	c := &r.clients[r.updates%len(r.clients)]
	next := &r.clients[(r.updates+1)%len(r.clients)]
	r.updates++
	var out []history.Operation
	if next != c {
		try := r.operation(next, history.Acquire, t+1, t+12)
		try.Outcome = history.Fail
		out = append(out, try)
	}
	a := r.acquire(c, t, at(1))
	seen := r.read(c, a.ID, at(3), at(5)+1, r.current)
	w := r.write(c, a, r.current, max(at(6), seen.Return), at(10))
	watch := client{name: "observer/" + r.name, incarnation: 1}
	dice, applied, answered := r.rng.Float64(), true, true
	switch {
	case dice < r.Unknown:
		w.Outcome, w.Return = history.Info, history.Never
		c.incarnation++
		applied, answered = r.rng.IntN(10) > 0, false
	case dice < r.Unknown+r.Paused && len(r.clients) > 2:
		w.Return += period * int64(1+r.rng.IntN(len(r.clients)-2))
		w.Completed, answered = w.Return, false
	}
	if applied {
		r.apply(w)
	}
	out = append(out, a, seen, w, r.read(&watch, "", at(9), t+13, r.current))
	if answered {
		free := r.operation(c, history.Release, t+13, t+14)
		free.Grant = a.ID
		out = append(out, free)
	}
	return out
}
