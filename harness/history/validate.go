package history

import (
	"cmp"
	"fmt"
	"slices"
)

// Validate asks whether a history can be judged at all. Porcupine does not
// ask: it calls a history with an operation that returns before its call
// Illegal, and the reduction of unknown outcomes is exact only if every basis
// was read by its writer. An error is a *Damage with the line to blame.
func (h *History) Validate() error {
	v := validation{
		h: h, ops: make(map[string]*Operation, len(h.Operations)),
		writes:  make(map[string]*Operation),
		process: make(map[string][]*Operation),
		client:  make(map[string][]*Operation),
	}
	for _, check := range []func() error{v.index, v.intervals, v.sequential, v.reads, v.bases, v.grants, v.finished} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

type validation struct {
	h       *History
	ops     map[string]*Operation
	writes  map[string]*Operation   // by write id
	process map[string][]*Operation // by call
	client  map[string][]*Operation // by call
}

func (v *validation) damage(line int, format string, args ...any) error {
	return &Damage{v.h.File, line, fmt.Sprintf(format, args...), fixRecorder}
}

func (v *validation) index() error {
	for i := range v.h.Operations {
		op := &v.h.Operations[i]
		if first := v.ops[op.ID]; first != nil {
			return v.damage(op.Line, "operation id %q was used before, in line %d", op.ID, first.Line)
		}
		v.ops[op.ID] = op
		v.process[op.Process] = append(v.process[op.Process], op)
		v.client[op.Client] = append(v.client[op.Client], op)
		if op.Kind != Write {
			continue
		}
		if op.WriteID == InitialWrite {
			return v.damage(op.Line, "write %q has the id of the initial document", op.ID)
		}
		if v.h.Header.LeftOut(op.WriteID) {
			return v.damage(op.Line, "write %q is there, and the header says that it was left out", op.ID)
		}
		if first := v.writes[op.WriteID]; first != nil {
			return v.damage(op.Line, "write id %q was used before, in line %d", op.WriteID, first.Line)
		}
		v.writes[op.WriteID] = op
	}
	return nil
}

func (v *validation) intervals() error {
	for i := range v.h.Operations {
		op := &v.h.Operations[i]
		switch {
		case op.Outcome == "":
			return v.damage(op.Line, "operation %q was never completed", op.ID)
		case op.Call >= op.Return:
			return v.damage(cmp.Or(op.End, op.Line), "operation %q returned at %d, not after its call at %d", op.ID, op.Return, op.Call)
		}
	}
	return nil
}

// sequential: one operation at a time per process, and none after an unknown
// outcome, since that operation may still be going on.
func (v *validation) sequential() error {
	for i := range v.h.Operations {
		op := &v.h.Operations[i]
		all := v.process[op.Process]
		if all[0] != op {
			continue // once per process, in the order of the file
		}
		last := op
		for _, next := range all[1:] {
			if last.Outcome == Info {
				return v.damage(next.Line, "process %q goes on with %q although the outcome of %q (line %d) is unknown", next.Process, next.ID, last.ID, last.Line)
			}
			if next.Call < last.Return {
				return v.damage(next.Line, "process %q calls %q before %q (line %d) has returned", next.Process, next.ID, last.ID, last.Line)
			}
			last = next
		}
	}
	return nil
}

func (op *Operation) hasRead() bool {
	return op.Outcome == OK && (op.Kind == Read || op.Kind == Claim)
}

// reads: everything read was written, by a write that may have taken effect
// and was called before the read returned.
func (v *validation) reads() error {
	for i := range v.h.Operations {
		op := &v.h.Operations[i]
		if !op.hasRead() || op.WriteID == InitialWrite || v.h.Header.LeftOut(op.WriteID) {
			continue
		}
		line := cmp.Or(op.End, op.Line)
		w := v.writes[op.WriteID]
		switch {
		case w == nil || w.Resource != op.Resource:
			return v.damage(line, "%s %q saw %q, which nobody wrote to %s", op.Kind, op.ID, op.WriteID, op.Resource)
		case w.Outcome != OK && w.Outcome != Info:
			return v.damage(line, "%s %q saw %q, a write that ended with %q (line %d)", op.Kind, op.ID, op.WriteID, w.Outcome, w.Line)
		case w.Call > op.Return: // equal stamps count as concurrent
			return v.damage(line, "%s %q saw %q before it was called (line %d)", op.Kind, op.ID, op.WriteID, w.Line)
		}
	}
	return nil
}

func (v *validation) bases() error {
	for i := range v.h.Operations {
		w := &v.h.Operations[i]
		if w.Kind == Write && w.Basis == w.WriteID {
			return v.damage(w.Line, "write %q is based on itself", w.ID)
		}
		if w.Kind == Write && BasisRead(w, v.client[w.Client]) == nil {
			return v.damage(w.Line, "write %q is based on %q, which %s had not read", w.ID, w.Basis, w.Client)
		}
	}
	return nil
}

// BasisRead is the read that a write was computed from: the last one of its
// client on its resource that saw the basis and returned before the write was
// called; nil if there is none. ops are operations in the order of their calls
// that include those of the write's client.
func BasisRead(w *Operation, ops []*Operation) *Operation {
	end, _ := slices.BinarySearchFunc(ops, w.Call, func(op *Operation, call int64) int { return cmp.Compare(op.Call, call) })
	for _, op := range slices.Backward(ops[:end]) {
		if op.Client == w.Client && op.Resource == w.Resource &&
			op.hasRead() && op.WriteID == w.Basis && op.Return <= w.Call {
			return op
		}
	}
	return nil
}

// grants: whatever is done under a grant is done by the client that was given
// it, on its resource, after it was given.
func (v *validation) grants() error {
	for i := range v.h.Operations {
		op := &v.h.Operations[i]
		if op.Grant == "" || op.Kind == Acquire {
			continue
		}
		g := v.ops[op.Grant]
		switch {
		case g == nil || g.Kind != Acquire:
			return v.damage(op.Line, "%s %q runs under grant %q, which nobody acquired", op.Kind, op.ID, op.Grant)
		case g.Outcome != OK:
			return v.damage(op.Line, "%s %q runs under grant %q, whose acquire ended with %q (line %d)", op.Kind, op.ID, op.Grant, g.Outcome, g.Line)
		case g.Client != op.Client || g.Resource != op.Resource:
			return v.damage(op.Line, "%s %q of %s runs under grant %q of %s (line %d)", op.Kind, op.ID, op.Client, op.Grant, g.Client, g.Line)
		case op.Call < g.Return:
			return v.damage(op.Line, "%s %q was called before its grant %q was given (line %d)", op.Kind, op.ID, op.Grant, g.Line)
		}
	}
	return nil
}

// finished: a grant whose write or claim has an unknown outcome writes no
// more. A resend under one token would break even claim-on-acquire, so such a
// history says nothing about the strategy; unless resending is what it is about.
func (v *validation) finished() error {
	if v.h.Header.Resends {
		return nil
	}
	unknown := map[string]*Operation{}
	for i := range v.h.Operations {
		op := &v.h.Operations[i]
		if op.Grant == "" || (op.Kind != Write && op.Kind != Claim) {
			continue
		}
		if first := unknown[op.Grant]; first != nil {
			return v.damage(op.Line, "grant %q goes on with %s %q although the outcome of %q (line %d) is unknown", op.Grant, op.Kind, op.ID, first.ID, first.Line)
		}
		if op.Outcome == Info {
			unknown[op.Grant] = op
		}
	}
	return nil
}
