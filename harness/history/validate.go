package history

import (
	"cmp"
	"fmt"
)

// Validate asks whether a history can be judged at all. Porcupine does not
// ask: it calls a history with an operation that returns before its call
// Illegal, and the reduction of unknown outcomes is exact only if every basis
// was read by its writer. An error is a *Damage with the line to blame.
func (h *History) Validate() error {
	v := newValidation(h)
	for _, c := range checks {
		if err := c(v); err != nil {
			return err
		}
	}
	return nil
}

// checks are made in this order.
var checks = [...]func(v *validation) error{
	checkIndex:      (*validation).index,
	checkIntervals:  (*validation).intervals,
	checkSequential: (*validation).sequential,
	checkReads:      (*validation).reads,
	checkBases:      (*validation).bases,
	checkGrants:     (*validation).grants,
	checkFinished:   (*validation).finished,
}

const (
	checkIndex = iota
	checkIntervals
	checkSequential
	checkReads
	checkBases
	checkGrants
	checkFinished
)

type validation struct {
	h      *History
	ops    index // by id
	writes index // by write id
}

func newValidation(h *History) *validation {
	v := &validation{h: h}
	v.ops = newIndex(func(i int) string { return h.Operations[i].ID })
	v.writes = newIndex(func(i int) string { return h.Operations[i].WriteID })
	return v
}

// found is the operation at the place that was found, nil without one.
func (v *validation) found(place int, there bool) *Operation {
	if !there {
		return nil
	}
	return &v.h.Operations[place]
}

func (v *validation) damage(line int, format string, args ...any) error {
	return &Damage{v.h.File, line, fmt.Sprintf(format, args...), fixRecorder}
}

func (v *validation) index() error {
	for i := range v.h.Operations {
		op := &v.h.Operations[i]
		if first := v.found(v.ops.add(i)); first != nil {
			return v.damage(op.Line, "operation id %q was used before, in line %d", op.ID, first.Line)
		}
		if op.Kind != Write {
			continue
		}
		if op.WriteID == InitialWrite {
			return v.damage(op.Line, "write %q has the id of the initial document", op.ID)
		}
		if v.h.Header.LeftOut(op.WriteID) {
			return v.damage(op.Line, "write %q is there, and the header says that it was left out", op.ID)
		}
		if first := v.found(v.writes.add(i)); first != nil {
			return v.damage(op.Line, "write id %q was used before, in line %d", op.WriteID, first.Line)
		}
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
// outcome, since that operation may still be going on. What is wrong with the
// process that began first is told.
func (v *validation) sequential() error {
	type course struct {
		began int
		last  *Operation
	}
	courses := map[string]*course{}
	worst := len(v.h.Operations)
	var err error
	for i := range v.h.Operations {
		next := &v.h.Operations[i]
		c := courses[next.Process]
		if c == nil {
			courses[next.Process] = &course{i, next}
			continue
		}
		last := c.last
		c.last = next
		if c.began >= worst {
			continue
		}
		switch {
		case last.Outcome == Info:
			err = v.damage(next.Line, "process %q goes on with %q although the outcome of %q (line %d) is unknown", next.Process, next.ID, last.ID, last.Line)
		case next.Call < last.Return:
			err = v.damage(next.Line, "process %q calls %q before %q (line %d) has returned", next.Process, next.ID, last.ID, last.Line)
		default:
			continue
		}
		worst = c.began
	}
	return err
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
		w := v.found(v.writes.find(op.WriteID))
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
	reads := NewReads()
	for i := range v.h.Operations {
		op := &v.h.Operations[i]
		if op.Kind == Write && op.Basis == op.WriteID {
			return v.damage(op.Line, "write %q is based on itself", op.ID)
		}
		if op.Kind == Write && reads.Basis(op) == nil {
			return v.damage(op.Line, "write %q is based on %q, which %s had not read", op.ID, op.Basis, op.Client)
		}
		reads.Add(op)
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
		g := v.found(v.ops.find(op.Grant))
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
