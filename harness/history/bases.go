package history

// Reads finds the read that a write was computed from, in a step however long
// ago it was. Operations are added in the order of their calls.
type Reads struct {
	last map[readOf]*earlier
}

type readOf struct{ client, resource, id string }

type earlier struct {
	read   *Operation
	before *earlier // of the same client, that saw the same
}

// NewReads knows no reads yet.
func NewReads() *Reads { return &Reads{last: map[readOf]*earlier{}} }

// Add takes note of an operation if it has read something; op is kept.
func (r *Reads) Add(op *Operation) {
	if op.hasRead() {
		key := readOf{op.Client, op.Resource, op.WriteID}
		r.last[key] = &earlier{op, r.last[key]}
	}
}

// Basis is the read that a write was computed from: the last one of its client
// on its resource that saw the basis, was called before the write, and had
// returned when the write was called; nil if there is none.
func (r *Reads) Basis(w *Operation) *Operation {
	for e := r.last[readOf{w.Client, w.Resource, w.Basis}]; e != nil; e = e.before {
		if e.read.Call < w.Call && e.read.Return <= w.Call {
			return e.read
		}
	}
	return nil
}
