package checkers

import (
	"fmt"
	"slices"

	"github.com/torture-harness/torture/harness/history"
)

// maxWhy is how many sentences of one kind are told of a counterexample.
const maxWhy = 8

// why says in plain words why some clusters have no legal order: what must
// stand before what, and what the rule then asks for in vain. Times are since
// begin, in ns.
func (m *model) why(cs []*cluster, begin int64) []string {
	var times, rules []string
	for _, y := range cs {
		for _, x := range cs {
			if x != y && x.w != nil && x.before(y) && (m.property != RMWAtomic || !y.on(x)) && len(times) < maxWhy {
				times = append(times, fmt.Sprintf("%s stands before %s: %s, and %s.", x.name(), y.name(), x.acceptedBy(begin), y.lastAt(begin)))
			}
		}
		if y.w == nil || len(rules) >= maxWhy {
			continue
		}
		if n := newestBefore(cs, y); m.newest && n != nil {
			rules = append(rules, fmt.Sprintf("%s before %s, so %s may not stand after %s%s.",
				y.w.granted(), n.w.asked(), y.name(), n.name(), m.unless(cs, y)))
		} else if m.property == RMWAtomic && y.basis != outside {
			rules = append(rules, fmt.Sprintf("%s was computed from %s, so it stands directly on it.", y.name(), y.w.op.Basis))
		}
	}
	return append(append(times, rules...), "Each write stands in one place, with the reads that saw it: there is no such order.")
}

// granted and asked are the end and the beginning of a grant. A write without a
// lock has the interval of the read from which it was computed.
func (w *write) granted() string {
	if w.grant.acquire == nil {
		return fmt.Sprintf("%s had read %s for %s", w.op.Client, w.op.Basis, w.op.WriteID)
	}
	return w.grant.name() + " was given"
}

func (w *write) asked() string {
	if w.grant.acquire == nil {
		return fmt.Sprintf("%s asked for %s to compute %s", w.op.Client, w.op.Basis, w.op.WriteID)
	}
	return w.grant.name() + " was asked for"
}

// unless is what excuses a late write of cluster y, and what takes the excuse.
func (m *model) unless(cs []*cluster, y *cluster) string {
	if m.property != StaleOverwrite {
		return ""
	}
	text := fmt.Sprintf(" unless directly on %s, from which it was computed", y.w.op.Basis)
	if y.basis == outside {
		return text
	}
	basis := cs[y.basis]
	for _, m := range cs {
		if m != basis && m != y && basis.before(m) && m.before(y) {
			return text + "; but " + m.name() + " stands between"
		}
	}
	return text
}

// newestBefore is the one of the newest grant among those of newer grants that
// certainly stand before y, directly or through one other.
func newestBefore(cs []*cluster, y *cluster) *cluster {
	var before []*cluster
	for _, n := range cs {
		if n != y && (n.before(y) || slices.ContainsFunc(cs, func(m *cluster) bool { return m != y && n.before(m) && m.before(y) })) {
			before = append(before, n)
		}
	}
	return newestAmong(before, y)
}

// newestAmong is the one of the newest grant that y's is older than.
func newestAmong(cs []*cluster, y *cluster) *cluster {
	var newest *cluster
	for _, n := range cs {
		if y.older(n) && (newest == nil || n.grantCall > newest.grantCall) {
			newest = n
		}
	}
	return newest
}

func (x *cluster) name() string {
	if x.w == nil {
		return "the initial document"
	}
	return x.w.op.WriteID
}

// on: x was computed from y.
func (x *cluster) on(y *cluster) bool {
	return x.w != nil && x.w.op.Basis == y.writeID()
}

func (x *cluster) writeID() string {
	if x.w == nil {
		return history.InitialWrite
	}
	return x.w.op.WriteID
}

// acceptedBy says since when the write is known to have taken effect.
func (x *cluster) acceptedBy(begin int64) string {
	if r := x.firstReturned(); r != nil {
		return fmt.Sprintf("%s had read it by %s", r.Client, sinceBegin(r.Return, begin))
	}
	return fmt.Sprintf("%s had its answer by %s", x.w.op.Client, sinceBegin(x.w.ret, begin))
}

// lastAt says until when the write was certainly still to come or current.
func (x *cluster) lastAt(begin int64) string {
	if r := x.lastCalled(); r != nil {
		return fmt.Sprintf("%s asked at %s and still read %s", r.Client, sinceBegin(r.Call, begin), x.name())
	}
	return fmt.Sprintf("%s was sent by %s at %s", x.name(), x.w.op.Client, sinceBegin(x.w.op.Call, begin))
}

func sinceBegin(at, begin int64) string { return fmt.Sprintf("%.6f s", float64(at-begin)/1e9) }
