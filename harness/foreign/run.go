package foreign

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/torture-harness/torture/harness/history"
)

// What a history of this project is written as, by model.
const (
	Register    = "register"
	CASRegister = "cas-register"
	Mutex       = "mutex"
	OwnerMutex  = "owner-mutex"
	Fenced      = "fenced-register"
)

// FromRun makes a history of this project one of a public model, with the
// resources as independent keys. h must be valid.
//
// Reads and writes of a document become reads and writes of its write id. As a
// cas-register, a write is a compare-and-set of its basis, which is what
// rmw-atomic asks for; as a fenced-register it carries the token of its grant,
// and a claim is only a read. The document that every resource starts with is a
// write before all others. A mutex has no lease: a grant whose lease ended
// without a release is held for ever.
func FromRun(h *history.History, model string) (*History, error) {
	c := &conversion{h: h, model: model, begun: map[string]bool{},
		out: &History{File: h.File, Format: Run, Keyed: true}}
	for i := range h.Operations {
		if err := c.operation(&h.Operations[i]); err != nil {
			return nil, err
		}
	}
	if len(c.steps) == 0 {
		return nil, &Damage{File: h.File, What: "expected operations of a " + model + ", found none"}
	}
	c.order()
	return c.out, nil
}

type conversion struct {
	h     *history.History
	model string
	out   *History
	steps []moment
	begun map[string]bool // the resources that have their first document
}

// moment is one end of an operation.
type moment struct {
	time int64
	end  bool
	op   int
}

func (c *conversion) operation(op *history.Operation) error {
	f, value, err := c.translate(op)
	if err != nil || f == "" {
		return err
	}
	if c.model != Mutex && c.model != OwnerMutex {
		c.begin(op.Resource)
	}
	to := Operation{
		Process: op.Process, F: f, Key: quoted(op.Resource), Value: value, Return: Never,
		Invoked: Position{op.Line, 1}, CallTime: op.Call, EndTime: NoTime,
	}
	switch op.Outcome {
	case history.OK:
		to.Outcome = OK
	case history.Fail, history.Rejected, history.Lost:
		to.Outcome = Failed
	}
	if op.Outcome != "" {
		to.Completed, to.EndTime = Position{op.End, 1}, op.Completed
	}
	c.add(to)
	return nil
}

// add puts an operation in; its place among the others comes later.
func (c *conversion) add(op Operation) {
	i := len(c.out.Operations)
	c.out.Operations = append(c.out.Operations, op)
	c.steps = append(c.steps, moment{op.CallTime, false, i})
	if op.EndTime != NoTime {
		c.steps = append(c.steps, moment{op.EndTime, true, i})
	}
}

// begin writes the first document of a resource, before anybody has asked.
func (c *conversion) begin(resource string) {
	if c.begun[resource] {
		return
	}
	c.begun[resource] = true
	value := id(history.InitialWrite)
	if c.model == Fenced {
		value = two(value, integer(0))
	}
	before := c.h.Operations[0].Call - 1
	c.add(Operation{
		Process: "the first document of " + resource, F: "write", Key: quoted(resource), Value: value,
		Outcome: OK, Return: before, CallTime: before, EndTime: before,
	})
}

func id(text string) Value          { return Value{Kind: Scalar, Text: quoted(text)} }
func integer(n int64) Value         { return Value{Kind: Integer, Text: fmt.Sprint(n)} }
func two(first, second Value) Value { return Value{Kind: Vector, Items: []Value{first, second}} }

// translate says what an operation is to the model; "" if it is nothing.
func (c *conversion) translate(op *history.Operation) (f string, value Value, err error) {
	switch c.model {
	case Mutex, OwnerMutex:
		if op.Kind != history.Acquire && op.Kind != history.Release {
			return "", value, nil
		}
		if c.model == OwnerMutex {
			value = id(cmp.Or(op.Grant, op.ID))
		}
		return string(op.Kind), value, nil
	}
	switch {
	case op.Kind == history.Read, op.Kind == history.Claim:
		if op.WriteID != "" {
			value = id(op.WriteID)
		}
		return "read", value, nil
	case op.Kind != history.Write:
		return "", value, nil
	case c.model == CASRegister:
		return "cas", two(id(op.Basis), id(op.WriteID)), nil
	case c.model == Fenced && op.Token <= 0:
		return "", value, &Damage{c.h.File, Position{op.Line, 1}, fmt.Sprintf("expected a fencing token at write %q, which a fenced-register needs", op.ID)}
	case c.model == Fenced:
		return "write", two(id(op.WriteID), integer(op.Token)), nil
	}
	return "write", id(op.WriteID), nil
}

// order gives every operation its places. Equal stamps count as concurrent, so
// calls come first; a process that would then do two things at once becomes
// another one.
func (c *conversion) order() {
	slices.SortStableFunc(c.steps, func(x, y moment) int {
		return cmp.Or(cmp.Compare(x.time, y.time), cmp.Compare(b(x.end), b(y.end)))
	})
	numbers, busy, next := map[string]string{}, map[string]bool{}, 0
	for i, m := range c.steps {
		op := &c.out.Operations[m.op]
		if m.end {
			if op.End = int64(i + 1); op.Outcome != Unknown {
				op.Return = op.End
				busy[op.Process] = false
			}
			continue
		}
		if number, known := numbers[op.Process]; !known || busy[number] {
			numbers[op.Process] = fmt.Sprint(next)
			next++
		}
		op.Process, op.Call = numbers[op.Process], int64(i+1)
		busy[op.Process] = true
	}
	slices.SortStableFunc(c.out.Operations, func(x, y Operation) int { return cmp.Compare(x.Call, y.Call) })
}

func b(x bool) int {
	if x {
		return 1
	}
	return 0
}
