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
	"plain":   func(*evidence, refusal) bool { return false },
	"fenced":  fencedMayRefuse,
	"claim":   claimMayRefuse,
	"version": versionMayRefuse,
}

// fencedMayRefuse: a newer grant has written, or this one has written before.
func fencedMayRefuse(e *evidence, r refusal) bool {
	return slices.ContainsFunc(e.writes, func(w *write) bool {
		return w.mayHaveEffect() && r.mayFollow(w.op, w.grant)
	})
}

// claimMayRefuse: a newer grant has claimed, or this one claims again. Several
// writes of one grant are fine here.
func claimMayRefuse(e *evidence, r refusal) bool {
	return slices.ContainsFunc(e.claims, func(c *history.Operation) bool {
		g := e.granted[c.Grant]
		if g == r.grant && r.op.Kind == history.Write {
			return false
		}
		return (c.Outcome == history.OK || c.Outcome == history.Info) && r.mayFollow(c, g)
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
	return slices.ContainsFunc(e.writes, func(w *write) bool {
		return w.mayHaveEffect() && w.op != r.op && w.op.WriteID != r.op.Basis &&
			w.op.Call < r.op.Return && w.ret > r.basis.Call
	})
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
