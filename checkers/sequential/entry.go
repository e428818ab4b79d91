package sequential

import (
	"errors"

	"github.com/torture-harness/torture/harness/foreign"
)

// entry is one operation of one key.
type entry struct {
	action
	call, ret int64 // ret is foreign.Never while unknown
	op        *foreign.Operation

	// settled is the operation from which it is known when this one had taken
	// effect at the latest; nil if that is its own return (see reduce).
	settled *foreign.Operation
}

// counts is what became of the operations of a file.
type counts struct {
	Operations int // all of them
	Unknown    int // with an unknown outcome
	Failed     int // dropped: they certainly had no effect
	Blind      int // completed reads of nil: they observed nothing
}

// entries translates the operations of each key. Dropped are those that
// certainly had no effect, reads that observed nothing (nil is how Jepsen writes
// that it is not known what a read saw) and reads without a known outcome.
func entries(h *foreign.History, m *Model) (byKey map[string][]entry, keys []string, n counts, err error) {
	byKey = map[string][]entry{}
	interners := map[string]interner{}
	for i := range h.Operations {
		op := &h.Operations[i]
		in := interners[op.Key]
		if in == nil {
			in = interner{}
			interners[op.Key] = in
			keys = append(keys, op.Key)
		}
		a, err := m.read(op, &in)
		var bad *unfit
		if errors.As(err, &bad) {
			return nil, nil, n, &foreign.Damage{File: h.File, Position: bad.at, What: bad.what}
		}
		n.Operations++
		switch op.Outcome {
		case foreign.Failed:
			n.Failed++
			continue
		case foreign.Unknown:
			n.Unknown++
			a.unknown = true
		}
		if a.kind == reads && (a.unknown || a.from == none) {
			if !a.unknown {
				n.Blind++
			}
			continue
		}
		byKey[op.Key] = append(byKey[op.Key], entry{action: a, call: op.Call, ret: op.Return, op: op})
	}
	return byKey, keys, n, nil
}
