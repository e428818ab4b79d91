package history

// Reads finds the read that a write was computed from. Operations are added in
// the order of their calls.
type Reads struct {
	last map[reader]*seenBefore
	// ids has all reads by what they saw. It is made when somebody asks for one
	// that is long ago; usually it is the last one of its client.
	ids map[readOf]*seenBefore
}

type reader struct{ client, resource string }

type readOf struct {
	reader
	id string
}

type seenBefore struct {
	read   *Operation
	before *seenBefore // of the same client, or the same that saw the same
}

// longAgo is how many reads of a client are looked at one by one.
const longAgo = 16

// NewReads knows no reads yet.
func NewReads() *Reads { return &Reads{last: map[reader]*seenBefore{}} }

// Add takes note of an operation if it has read something; op is kept.
func (r *Reads) Add(op *Operation) {
	if !op.hasRead() {
		return
	}
	by := reader{op.Client, op.Resource}
	r.last[by] = &seenBefore{op, r.last[by]}
	if r.ids != nil {
		r.remember(op)
	}
}

func (r *Reads) remember(op *Operation) {
	of := readOf{reader{op.Client, op.Resource}, op.WriteID}
	r.ids[of] = &seenBefore{op, r.ids[of]}
}

// Basis is the read that a write was computed from: the last one of its client
// on its resource that saw the basis, was called before the write, and had
// returned when the write was called; nil if there is none.
func (r *Reads) Basis(w *Operation) *Operation {
	by := reader{w.Client, w.Resource}
	at := r.last[by]
	for range longAgo {
		if at == nil {
			return nil
		}
		if at.read.isBasisOf(w) {
			return at.read
		}
		at = at.before
	}
	if r.ids == nil {
		r.ids = map[readOf]*seenBefore{}
		for _, last := range r.last {
			var all []*Operation
			for ; last != nil; last = last.before {
				all = append(all, last.read)
			}
			for i := len(all) - 1; i >= 0; i-- {
				r.remember(all[i])
			}
		}
	}
	for at = r.ids[readOf{by, w.Basis}]; at != nil; at = at.before {
		if at.read.isBasisOf(w) {
			return at.read
		}
	}
	return nil
}

func (op *Operation) isBasisOf(w *Operation) bool {
	return op.WriteID == w.Basis && op.Call < w.Call && op.Return <= w.Call
}
