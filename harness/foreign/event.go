package foreign

import (
	"fmt"
	"strings"
)

// event is one line of a history, whatever its format.
type event struct {
	at      Position
	process Value
	kind    string // invoke, ok, fail, info
	f       string
	value   Value
	valued  bool // it has a value, which may be nil
	key     *Value
	time    int64
	index   int64 // -1 without one
}

// Payload is what an operation carries, apart from the key.
type Payload int

// The payloads.
const (
	One Payload = iota // one value, or none
	Two                // a vector of two values
)

// Payloads says what the operations of a model carry: f to payload. It is what
// tells [key value] from a value that is a vector itself, and what a
// model knows from what it does not.
type Payloads map[string]Payload

// assembly makes operations of events. It knows which of them cannot follow.
type assembly struct {
	h        *History
	payloads Payloads
	keys     keying
	events   int64
	index    int64            // the last one seen
	open     map[string]int   // process to its operation that goes on
	crashed  map[string]event // process to the info that ended it
}

func newAssembly(file string, format Format, payloads Payloads) *assembly {
	return &assembly{
		h: &History{File: file, Format: format}, payloads: payloads, index: -1,
		keys: keying{tuples: format != JSONL},
		open: map[string]int{}, crashed: map[string]event{},
	}
}

func (a *assembly) damage(at Position, format string, args ...any) error {
	return &Damage{a.h.File, at, fmt.Sprintf(format, args...)}
}

// nemesis: events of processes that are no clients say nothing about the data.
// Jepsen's clients are numbers; but a keyword that invokes something is a
// client too, for leaving out what a client did could hide a violation.
func (a *assembly) nemesis(e event) bool {
	name := strings.Trim(e.process.String(), `:"`)
	if name == "nemesis" || strings.HasPrefix(name, "nemesis-") {
		return true
	}
	_, open := a.open[e.process.String()]
	return e.process.Kind == Keyword && e.kind == "info" && !open
}

// add takes the next event.
func (a *assembly) add(e event) error {
	if e.index >= 0 {
		if e.index <= a.index {
			return a.damage(e.at, "expected an index above %d, found %d: the order of the events is that of the file", a.index, e.index)
		}
		a.index = e.index
	}
	switch e.kind {
	case "invoke", "ok", "fail", "info":
	default:
		return a.damage(e.at, "expected the type invoke, ok, fail or info, found %q", shown(e.kind))
	}
	if a.nemesis(e) {
		a.h.Left.Nemesis++
		return nil
	}
	if e.process.Kind == Nil || e.process.Kind == Vector || e.process.Kind == Map || e.process.Kind == Set {
		return a.damage(e.at, "expected a number or a name as process, found %s", shown(e.process.String()))
	}
	a.events++
	process := e.process.String()
	if info, crashed := a.crashed[process]; crashed {
		return a.damage(e.at, "expected another process: the outcome of what %s did is unknown since line %d, so it may still be doing it and must not be used again", shown(process), info.at.Line)
	}
	if e.kind == "invoke" {
		return a.invoke(process, e)
	}
	return a.complete(process, e)
}

func (a *assembly) invoke(process string, e event) error {
	if i, open := a.open[process]; open {
		return a.damage(e.at, "expected a completion: process %s has not completed the %s of line %d", shown(process), a.h.Operations[i].F, a.h.Operations[i].Invoked.Line)
	}
	if _, known := a.payloads[e.f]; !known {
		return a.damage(e.at, "expected %s, which the model knows, found f %q", a.payloads.names(), shown(e.f))
	}
	key, value, err := a.keys.split(a, e)
	if err != nil {
		return err
	}
	a.open[process] = len(a.h.Operations)
	a.h.Operations = append(a.h.Operations, Operation{
		Process: process, F: e.f, Key: key, Value: value, Invoked: e.at,
		Call: a.events, Return: Never, CallTime: e.time, EndTime: NoTime,
	})
	return nil
}

func (a *assembly) complete(process string, e event) error {
	i, open := a.open[process]
	if !open {
		return a.damage(e.at, "expected an invocation before this %s: process %s has invoked nothing", e.kind, shown(process))
	}
	op := &a.h.Operations[i]
	if e.f != op.F {
		return a.damage(e.at, "expected the completion of %s, which process %s has invoked in line %d, found %q", op.F, shown(process), op.Invoked.Line, shown(e.f))
	}
	delete(a.open, process)
	op.Completed, op.EndTime, op.End = e.at, e.time, a.events
	switch e.kind {
	case "info":
		a.crashed[process] = e
		return nil // its value is often an error, and says nothing certain
	case "fail":
		op.Outcome, op.Return = Failed, a.events
		return nil
	}
	op.Outcome, op.Return = OK, a.events
	if !e.valued {
		if op.F == "read" {
			op.Value = Value{} // it has seen nothing, whatever its invocation says
		}
		return nil
	}
	key, value, err := a.keys.split(a, e)
	if err != nil {
		return err
	}
	if key != op.Key {
		return a.damage(e.at, "expected the key %s of the invocation in line %d, found %s", shown(op.Key), op.Invoked.Line, shown(key))
	}
	if value.Kind == Nil && op.Value.Kind != Nil && op.F != "read" {
		return a.damage(e.value.Position, "expected the value of the %s; its invocation in line %d has %s and its completion nil", op.F, op.Invoked.Line, shown(op.Value.String()))
	}
	op.Value = value
	return nil
}

// finish is the history once all events have been added.
func (a *assembly) finish() (*History, error) {
	if len(a.h.Operations) == 0 {
		return nil, &Damage{File: a.h.File, What: "expected operations of clients, found none"}
	}
	a.h.Keyed = a.keys.hasKey
	return a.h, nil
}

func (p Payloads) names() string {
	var names []string
	for _, f := range []string{"read", "write", "cas", "acquire", "release"} {
		if _, known := p[f]; known {
			names = append(names, f)
		}
	}
	return strings.Join(names, " or ")
}
