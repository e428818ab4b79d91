package checkers

import "github.com/torture-harness/torture/harness/history"

// doubts are the operations that may have made a store refuse another: those
// that took effect, or may have.
type doubts struct {
	writes spans[*write]             // from their calls until they had certainly taken effect
	grants spans[*write]             // by their calls, and the returns of their acquires
	claims spans[*history.Operation] // the same of claims
	marks  spans[*history.Operation] // claims, from call to return
	first  map[request]int64         // call of the first write
}

// request is what is sent twice if a client tries again.
type request struct{ client, grant string }

func (e *evidence) doubt() *doubts {
	if e.doubts != nil {
		return e.doubts
	}
	d := &doubts{first: map[request]int64{}}
	e.doubts = d
	for _, w := range e.writes { // by call
		if !w.mayHaveEffect() {
			continue
		}
		d.writes.add(w.op.Call, w.ret, w)
		d.grants.add(w.op.Call, w.grant.ret, w)
		key := request{w.op.Client, w.op.Grant}
		if _, there := d.first[key]; !there {
			d.first[key] = w.op.Call
		}
	}
	for _, c := range e.claims {
		if c.Outcome != history.OK && c.Outcome != history.Info {
			continue
		}
		given := int64(future)
		if g := e.granted[c.Grant]; g != nil {
			given = g.ret
		}
		d.claims.add(c.Call, given, c)
		d.marks.add(c.Call, c.Return, c)
	}
	d.writes.sort()
	d.grants.sort()
	d.claims.sort()
	d.marks.sort()
	return d
}
