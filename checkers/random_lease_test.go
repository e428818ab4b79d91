package checkers

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/torture-harness/torture/harness/history"
)

// generateLeases is a small random history of one lock and nothing else: grants
// that may overlap, leases that begin before their acquire or are renewed for
// longer or shorter, renewals by a process of their own, releases of every
// outcome, locks without a lease, tokens that may be equal or out of order.
func generateLeases(rng *rand.Rand) *history.History {
	h := &history.History{File: "random", Header: history.Header{
		Locker: "etcd", LeaseBy: "etcd", Guard: "plain", Fault: "pause-random", TTL: 10, Tokens: true, Resources: []string{"r00"},
	}}
	if rng.IntN(4) == 0 {
		h.Header.LeaseBy = "redis"
	}
	unit := int64(1)
	if h.Header.LeaseBy == "redis" {
		unit = RedisSlack // so that it is as long as everything else
	}
	add := func(o op) *op {
		o.Resource, o.Worker, o.Completed = "r00", o.Client, o.Return
		if o.Outcome == history.Info {
			o.Return = history.Never
		}
		h.Operations = append(h.Operations, o)
		return &h.Operations[len(h.Operations)-1]
	}
	for c := range 2 + rng.IntN(2) {
		client := string(rune('A' + c))
		now, incarnation := unit*rng.Int64N(24), 1
		span := func(longest int64) (call, ret int64) {
			call = now + unit*rng.Int64N(6)
			ret = call + unit*(1+rng.Int64N(longest))
			now = ret
			return call, ret
		}
		for range 1 + rng.IntN(2) {
			id := fmt.Sprintf("%s-%d", client, incarnation)
			process := func() string { return fmt.Sprintf("%s#%d", client, incarnation) }
			call, ret := span(12)
			acquire := op{ID: id, Client: client, Process: process(), Kind: history.Acquire, Call: call, Return: ret,
				Outcome: history.OK, Grant: id, LeaseCall: call - unit*rng.Int64N(3), LeaseTTL: unit * (4 + rng.Int64N(12)), Token: 1 + rng.Int64N(4)}
			if rng.IntN(8) == 0 {
				acquire.LeaseCall, acquire.LeaseTTL = call, 0
			}
			leased := add(acquire).LeaseTTL > 0
			releases := rng.IntN(4) > 0
			over := false // a client that was told so does not renew
			for i := range rng.IntN(3) {
				if !leased || over {
					break
				}
				call, ret := span(4)
				renew := op{ID: fmt.Sprintf("%s-renew-%d", id, i), Client: client, Process: fmt.Sprintf("%s-renewer-%d", client, incarnation), Kind: history.Renew,
					Call: call, Return: ret, Grant: id, Outcome: history.OK}
				switch rng.IntN(6) {
				case 0:
					renew.Outcome, over = history.Lost, true
				case 1: // its process is another afterwards
					renew.Process, renew.Outcome = renew.Process+"-"+renew.ID, history.Info
				default:
					renew.LeaseCall = call
					if rng.IntN(3) == 0 {
						renew.LeaseTTL = unit * (2 + rng.Int64N(16))
					}
				}
				add(renew)
				if releases && !over && rng.IntN(4) == 0 {
					now = call // the release does not wait for it
					break
				}
			}
			if releases {
				call, ret := span(4)
				release := op{ID: id + "-release", Client: client, Process: process(), Kind: history.Release, Call: call, Return: ret, Grant: id}
				release.Outcome = []history.Outcome{history.OK, history.OK, history.Lost, history.Info}[rng.IntN(4)]
				add(release)
			}
			incarnation++
		}
	}
	slices.SortStableFunc(h.Operations, func(a, b op) int { return cmp.Compare(a.Call, b.Call) })
	return h
}
