package checkers

import (
	"github.com/torture-harness/torture/harness/history"
)

// cluster is a write with the reads that saw it. In any legal order of a
// register they stand together, so clusters can be ordered instead of
// operations (Gibbons and Korach, "Testing shared memories", 1997).
type cluster struct {
	w                   *write               // nil for the initial document
	reads               []*history.Operation // by call
	maxCall             int64                // the latest call in the cluster
	minRet              int64                // the earliest return
	grantCall, grantRet int64
	basis               int // index of the cluster it was computed from, or outside
}

// outside is the basis of a write whose basis was left out of a counterexample.
const outside = -1

// before: x must stand before y, because something in x had returned when
// something in y was called.
func (x *cluster) before(y *cluster) bool { return x.minRet < y.maxCall }

// older: x must not stand after y where fencing holds.
func (x *cluster) older(y *cluster) bool { return x.grantRet < y.grantCall }

// clusters are the effective writes of a resource by their calls; the first is
// the initial document.
func clusters(e *evidence) []*cluster {
	out := []*cluster{{maxCall: past, minRet: past, grantCall: past, grantRet: future}}
	index := map[string]int{history.InitialWrite: 0}
	for _, w := range e.writes {
		if !w.effective {
			continue
		}
		index[w.op.WriteID] = len(out)
		out = append(out, &cluster{w: w, maxCall: w.op.Call, minRet: w.ret, grantCall: w.grant.call, grantRet: w.grant.ret})
	}
	for _, r := range e.reads {
		c := out[index[r.WriteID]]
		c.reads = append(c.reads, r)
		c.maxCall, c.minRet = max(c.maxCall, r.Call), min(c.minRet, r.Return)
	}
	for _, c := range out[1:] {
		c.basis = outside
		if i, there := index[c.w.op.Basis]; there {
			c.basis = i
		}
	}
	return out
}

// inOrder: the clusters can stand in exactly this order; if not, bad is the
// first that must stand before an earlier one, late.
func inOrder(cs []*cluster) (bad, late *cluster) {
	var latest *cluster
	for _, c := range cs {
		if latest != nil && c.before(latest) {
			return c, latest
		}
		if latest == nil || c.maxCall > latest.maxCall {
			latest = c
		}
	}
	return nil, nil
}
