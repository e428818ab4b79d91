package checkers

import (
	"cmp"
	"slices"

	"github.com/torture-harness/torture/harness/history"
)

// refusal is a write or a claim that the store refused.
type refusal struct {
	op    *history.Operation
	grant *grant
	basis *history.Operation // of a write
}

func (e *evidence) refusals() []refusal {
	var out []refusal
	for _, w := range e.writes {
		if w.op.Outcome == history.Rejected {
			out = append(out, refusal{w.op, w.grant, w.basis})
		}
	}
	for _, c := range e.claims {
		if c.Outcome == history.Rejected {
			out = append(out, refusal{op: c, grant: e.granted[c.Grant]})
		}
	}
	slices.SortStableFunc(out, func(a, b refusal) int { return cmp.Compare(a.op.Call, b.op.Call) })
	return out
}

// refusalRules say for each guard whether something in the history can have
// made it refuse. Each gives the benefit of the doubt: what was called before
// the refusal returned may have been first.
var refusalRules = map[string]func(e *evidence, r refusal) bool{
	"plain": never, "row-lock": never, "sink": never, "fence-unchecked": never, "fence-turned": never,

	"fenced": fencedMayRefuse, "fence-trigger": fencedMayRefuse,
	"fence-two-statements": fencedMayRefuse, "fence-transaction": fencedMayRefuse, "fence-for-update": fencedMayRefuse,
	"fence-unlogged": fencedMayRefuse, "fence-redis": fencedMayRefuse, "fence-memory": fencedMayRefuse, "fence-content-first": fencedMayRefuse, "fence-first": fencedMayRefuse,
	"fenced-open": fencedMayRefuse, "fenced-rolled-back": fencedMayRefuse,
	"fenced-repeatable-read": fencedMayRefuse, "fenced-serializable": fencedMayRefuse,
	"fenced-null": fencedMayRefuse, "fenced-doubled": fencedMayRefuse, "fenced-missing": fencedMayRefuse,
	// What these refuse besides is what is wrong with them.
	"fence-next": fencedMayRefuse, "fence-text": fencedMayRefuse,
	"fenced-le": newerMayRefuse,

	"claim": claimMayRefuse, "claim-ge": claimMayRefuse,
	"owner-cas": ownerMayRefuse,
	"version":   versionMayRefuse, "sink-version": versionMayRefuse,
	"idempotency": requestMayRefuse, "idempotency-no-key": requestMayRefuse, "sink-idempotency": requestMayRefuse,
	"etcd-txn": leaseMayRefuse, "etcd-txn-unconditional": never,
}

func never(*evidence, refusal) bool { return false }

// newerMayRefuse: a newer grant has written.
func newerMayRefuse(e *evidence, r refusal) bool {
	return anyOf(e.doubt().grants.over(r.op.Return, r.since()), func(w *write) bool {
		return w.grant != r.grant && r.mayFollow(w.op, w.grant)
	})
}

// since is what a grant must have returned after that may be newer.
func (r refusal) since() int64 {
	if r.grant == nil {
		return past
	}
	return r.grant.call - 1
}

// ownerMayRefuse: another has marked the row since this grant did, whichever of
// them is the older.
func ownerMayRefuse(e *evidence, r refusal) bool {
	var marked int64
	own := e.claims
	if r.grant != nil && r.grant.acquire != nil {
		own = r.grant.under
	}
	for _, c := range own { // by call
		if c.Kind == history.Claim && c.Grant == r.op.Grant && c.Outcome == history.OK && c.Return <= r.op.Call {
			marked = c.Call
		}
	}
	return anyOf(e.doubt().marks.over(r.op.Return, marked), func(c *history.Operation) bool { return c.Grant != r.op.Grant })
}

// requestMayRefuse: the same client has written under the same grant before, so
// this may be the same request once more.
func requestMayRefuse(e *evidence, r refusal) bool {
	first, wrote := e.doubt().first[request{r.op.Client, r.op.Grant}]
	return wrote && first < r.op.Call
}

// leaseMayRefuse: the key of the lock may have been gone, for its lease had
// ended or its release had been called.
func leaseMayRefuse(_ *evidence, r refusal) bool {
	return r.grant == nil || r.grant.acquire == nil || leaseEnd(r.grant, 0) <= r.op.Return
}

// fencedMayRefuse: a newer grant has written, or this one has written before.
func fencedMayRefuse(e *evidence, r refusal) bool {
	return anyOf(e.doubt().grants.over(r.op.Return, r.since()), func(w *write) bool { return r.mayFollow(w.op, w.grant) })
}

// claimMayRefuse: a newer grant has claimed, or this one claims again. Several
// writes of one grant are fine here.
func claimMayRefuse(e *evidence, r refusal) bool {
	return anyOf(e.doubt().claims.over(r.op.Return, r.since()), func(c *history.Operation) bool {
		g := e.granted[c.Grant]
		return !(g == r.grant && r.op.Kind == history.Write) && r.mayFollow(c, g)
	})
}

// mayFollow: op, of grant g, may have raised the fence against the refused
// one before it was looked at.
func (r refusal) mayFollow(op *history.Operation, g *grant) bool {
	if op == r.op || op.Call >= r.op.Return {
		return false
	}
	if g == r.grant {
		return op.Call < r.op.Call
	}
	return g == nil || r.grant == nil || !g.olderThan(r.grant)
}

// versionMayRefuse: another write may have come after the read.
func versionMayRefuse(e *evidence, r refusal) bool {
	return anyOf(e.doubt().writes.over(r.op.Return, r.basis.Call), func(w *write) bool { return w.op != r.op && w.op.WriteID != r.op.Basis })
}

func (r refusal) unjustified() culprit {
	ops := []*history.Operation{r.op}
	name := "no lock"
	if r.grant != nil {
		name = r.grant.name()
		if r.grant.acquire != nil {
			ops = append(ops, r.grant.acquire)
		}
	}
	from := r.op.Call
	return culprit{
		exposure: exposure{resource: r.op.Resource, op: r.op.ID, at: r.op.Call, worker: r.op.Worker, from: from, to: r.op.Return},
		example:  example(r.op, ops, "the store refused the "+string(r.op.Kind)+" "+r.op.ID+" of "+r.op.Client+" ("+name+"), and nothing in the history justifies it"),
	}
}
