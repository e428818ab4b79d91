package checkers

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/torture-harness/torture/harness/history"
)

// generated is a small random history and the order in which its store applied
// the writes, if a store could have produced it at all.
type generated struct {
	h     *history.History
	order []string // write ids in the order of application
	sound bool     // nothing was changed after the store had run
}

// generate runs a few clients against a store that checks nothing, with random
// overlaps, equal stamps, unknown outcomes, refusals, several updates under one
// grant, overlapping grants and writes without a grant. Then it may change what
// was read, which makes most histories illegal.
func generate(rng *rand.Rand) generated { return generateOf(rng, 2+rng.IntN(2)) }

func generateOf(rng *rand.Rand, clients int) generated {
	type request struct {
		op    *op
		point int64 // when the store does it; ties go by place
		place int
		dead  bool // it never arrives
	}
	var all []*op
	var requests []request
	place := map[string]int{}
	send := func(o *op, dead bool) {
		all = append(all, o)
		point := o.Call + rng.Int64N(o.Completed-o.Call+1)
		if o.Outcome == history.Info {
			point += rng.Int64N(4)
		}
		place[o.Client] += 1 + rng.IntN(100) // a client's own requests stay in order
		requests = append(requests, request{o, point, place[o.Client], dead})
	}
	reads := map[*op]*op{} // a write to the read it is based on
	for c := range clients {
		client := string(rune('A' + c))
		now := rng.Int64N(6)
		span := func() (call, ret int64) {
			call = now + rng.Int64N(3)
			ret = call + 1 + rng.Int64N(4)
			now = ret
			return call, ret
		}
		incarnation, grant := 1, ""
		make := func(kind history.Kind) *op {
			call, ret := span()
			return &op{
				ID: fmt.Sprintf("%s%d", client, len(all)), Worker: client, Client: client, Process: fmt.Sprintf("%s#%d", client, incarnation),
				Resource: "r00", Kind: kind, Call: call, Return: ret, Completed: ret, Outcome: history.OK,
			}
		}
		for range 1 + rng.IntN(2) {
			if fresh := rng.IntN(4); fresh < 2 || grant == "" && fresh == 2 {
				a := make(history.Acquire)
				a.Grant, a.LeaseCall, a.LeaseTTL = a.ID, a.Call, 10
				grant = a.ID
				all = append(all, a)
			} else if fresh == 3 {
				grant = ""
			}
			r := make(history.Read)
			r.Grant = grant
			send(r, false)
			w := make(history.Write)
			w.Grant, w.WriteID = grant, w.ID
			reads[w] = r
			switch rng.IntN(10) {
			case 0, 1:
				w.Outcome, w.Return = history.Info, history.Never
				incarnation, grant = incarnation+1, ""
			case 2:
				w.Outcome = history.Rejected
			case 3:
				w.Outcome = history.Fail
			}
			send(w, w.Outcome == history.Rejected || w.Outcome == history.Fail || w.Outcome == history.Info && rng.IntN(3) == 0)
		}
	}
	for i := range rng.IntN(3) {
		call := rng.Int64N(16)
		r := &op{ID: fmt.Sprint("o", i), Client: fmt.Sprint("o", i), Process: fmt.Sprint("o", i), Resource: "r00", Kind: history.Read,
			Call: call, Return: call + 1 + rng.Int64N(3), Outcome: history.OK}
		r.Completed = r.Return
		send(r, false)
	}

	slices.SortFunc(requests, func(a, b request) int { return cmp.Or(cmp.Compare(a.point, b.point), cmp.Compare(a.place, b.place)) })
	g := generated{sound: true}
	current, written := history.InitialWrite, []string{history.InitialWrite}
	for _, r := range requests {
		switch {
		case r.op.Kind == history.Read:
			r.op.WriteID = current
		case !r.dead:
			current = r.op.WriteID
			g.order = append(g.order, current)
		}
		if r.op.Kind == history.Write && r.op.Outcome != history.Rejected && r.op.Outcome != history.Fail {
			written = append(written, r.op.WriteID)
		}
	}
	if rng.IntN(2) == 0 {
		for _, r := range requests {
			if r.op.Kind == history.Read && rng.IntN(3) == 0 {
				r.op.WriteID = written[rng.IntN(len(written))]
				g.sound = false
			}
		}
	}
	g.h = &history.History{File: "random", Header: history.Header{Locker: "etcd", Guard: "plain", Fault: "pause-random", TTL: 10, Resources: []string{"r00"}}}
	for _, o := range all {
		if r := reads[o]; r != nil {
			o.Basis = r.WriteID
		}
		g.h.Operations = append(g.h.Operations, *o)
	}
	slices.SortStableFunc(g.h.Operations, func(a, b op) int { return cmp.Compare(a.Call, b.Call) })
	return g
}
