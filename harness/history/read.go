package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// ReadFile reads a history.jsonl. See Parse.
func ReadFile(path string) (*History, error) {
	f, err := Open(path)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	defer f.Close()
	return Parse(f, path)
}

// Parse reads a history in JSON lines; name is used in messages. A torn last
// line is tolerated and reported in Warnings. Anything else that is not as a
// recorder writes it is a *Damage with its line. Whether what the history says
// can have happened is not asked here but by Validate.
func Parse(r io.Reader, name string) (*History, error) {
	a := assembly{name: name, h: &History{File: name}, open: map[string]*Operation{}, closed: map[string]int{}}
	torn, err := readLines(r, name, a.line)
	if err != nil {
		return nil, err
	}
	if !a.headed {
		return nil, &Damage{name, 1, "no header", fixCut}
	}
	if torn != nil {
		a.h.Warnings = append(a.h.Warnings, torn.Error())
	}
	for _, op := range a.open { // kept as they are: Validate says which line
		op.Return, op.Outcome = Never, ""
		a.h.Operations = append(a.h.Operations, *op)
	}
	slices.SortStableFunc(a.h.Operations, func(x, y Operation) int {
		return cmp.Or(cmp.Compare(x.Call, y.Call), cmp.Compare(x.Line, y.Line), cmp.Compare(x.ID, y.ID))
	})
	return a.h, nil
}

// assembly puts operations together from their two lines.
type assembly struct {
	name   string
	h      *History
	headed bool
	open   map[string]*Operation
	closed map[string]int // operation id to the line of its invocation
}

func (a *assembly) line(n int, text []byte) error {
	var e Event
	if err := json.Unmarshal(text, &e); err != nil {
		return &Damage{a.name, n, "not an event: " + err.Error(), fixCut}
	}
	if !a.headed {
		return a.header(n, e)
	}
	switch e.Type {
	case TypeHeader:
		return &Damage{a.name, n, "a second header", "two histories were put into one file, judge them one by one"}
	case TypeInvoke:
		return a.invoke(n, e)
	case TypeComplete:
		return a.complete(n, e)
	case TypeFault:
		if e.Fault == nil || e.Fault.ID == "" || e.Fault.Phase == "" {
			return &Damage{a.name, n, "a fault without id or phase", fixRecorder}
		}
		a.h.Faults = append(a.h.Faults, FaultEvent{Fault: *e.Fault, Time: e.Time, Line: n})
	case TypeWant, TypeGiveUp, TypeArrive, TypeLeave, TypeWorker, TypeStall, TypeClock, TypeLoad, TypeNote:
		a.h.Events = append(a.h.Events, e)
	default:
		return &Damage{a.name, n, fmt.Sprintf("unknown type of line %q", e.Type), fixVersion}
	}
	return nil
}

func (a *assembly) header(n int, e Event) error {
	if e.Type != TypeHeader || e.Header == nil {
		return &Damage{a.name, n, "the first line is not a header", fixCut}
	}
	if e.Header.Schema != Schema {
		return &Damage{a.name, n, fmt.Sprintf("unknown schema %q, this version reads %q", e.Header.Schema, Schema), fixVersion}
	}
	a.headed, a.h.Header = true, *e.Header
	return nil
}

func (a *assembly) invoke(n int, e Event) error {
	missing := ""
	switch {
	case e.Op == "":
		missing = "op"
	case e.Time <= 0:
		missing = "time"
	case e.Process == "":
		missing = "process"
	case e.Kind == "":
		missing = "kind"
	case e.Resource == "" && e.Kind != Read:
		missing = "resource"
	case e.Kind == Write && e.WriteID == "":
		missing = "write_id"
	case e.Kind == Write && e.Basis == "":
		missing = "basis"
	}
	if missing != "" {
		return &Damage{a.name, n, fmt.Sprintf("invoke %q has no %s", e.Op, missing), fixRecorder}
	}
	if !slices.Contains(kinds, e.Kind) {
		return &Damage{a.name, n, fmt.Sprintf("unknown kind %q of operation %q", e.Kind, e.Op), fixVersion}
	}
	if first, again := a.closed[e.Op]; again {
		return &Damage{a.name, n, fmt.Sprintf("operation %q was invoked before, in line %d", e.Op, first), fixRecorder}
	}
	if op, again := a.open[e.Op]; again {
		return &Damage{a.name, n, fmt.Sprintf("operation %q was invoked before, in line %d", e.Op, op.Line), fixRecorder}
	}
	client := e.Client
	if client == "" {
		client = e.Process
	}
	a.open[e.Op] = &Operation{
		ID: e.Op, Process: e.Process, Worker: e.Worker, Client: client, Resource: e.Resource,
		Kind: e.Kind, Call: e.Time, Grant: e.Grant, WriteID: e.WriteID, Basis: e.Basis,
		Token: e.Token, LeaseCall: e.LeaseCall, LeaseTTL: e.LeaseTTL, Version: e.Version,
		Line: n,
	}
	return nil
}

func (a *assembly) complete(n int, e Event) error {
	op, ok := a.open[e.Op]
	if first, again := a.closed[e.Op]; again {
		return &Damage{a.name, n, fmt.Sprintf("operation %q of line %d is completed twice", e.Op, first), fixRecorder}
	}
	if !ok {
		return &Damage{a.name, n, fmt.Sprintf("completion of %q without its invocation", e.Op), fixCut}
	}
	if e.Time <= 0 {
		return &Damage{a.name, n, fmt.Sprintf("completion of %q has no time", e.Op), fixRecorder}
	}
	for _, f := range []struct{ name, was, is string }{
		{"process", op.Process, e.Process}, {"worker", op.Worker, e.Worker}, {"client", op.Client, e.Client},
		{"resource", op.Resource, e.Resource}, {"kind", string(op.Kind), string(e.Kind)},
		{"write_id", op.WriteID, e.WriteID}, {"basis", op.Basis, e.Basis}, {"grant", op.Grant, e.Grant},
	} {
		if f.is != "" && f.was != "" && f.is != f.was {
			return &Damage{a.name, n, fmt.Sprintf("completion of %q says %s %q, its invocation in line %d says %q", e.Op, f.name, f.is, op.Line, f.was), fixRecorder}
		}
	}
	if what := badOutcome(op.Kind, e.Outcome); what != "" {
		return &Damage{a.name, n, fmt.Sprintf("operation %q: %s", e.Op, what), fixVersion}
	}
	op.Outcome, op.Return, op.Completed, op.Error, op.End = e.Outcome, e.Time, e.Time, e.Error, n
	if op.Outcome == Info {
		op.Return = Never
	}
	op.WriteID, op.Basis = cmp.Or(e.WriteID, op.WriteID), cmp.Or(e.Basis, op.Basis)
	op.Grant = cmp.Or(e.Grant, op.Grant)
	op.Token, op.Version = cmp.Or(e.Token, op.Token), cmp.Or(e.Version, op.Version)
	op.LeaseCall, op.LeaseTTL = cmp.Or(e.LeaseCall, op.LeaseCall), cmp.Or(e.LeaseTTL, op.LeaseTTL)
	delete(a.open, e.Op)
	a.closed[e.Op] = op.Line
	if op.Outcome == OK {
		switch op.Kind {
		case Acquire:
			if op.Grant != "" && op.Grant != op.ID {
				return &Damage{a.name, n, fmt.Sprintf("acquire %q made the grant %q, a grant has the id of its acquire", op.ID, op.Grant), fixRecorder}
			}
			op.Grant = op.ID
			op.LeaseCall = cmp.Or(op.LeaseCall, op.Call)
		case Renew:
			op.LeaseCall = cmp.Or(op.LeaseCall, op.Call)
		case Read, Claim:
			if op.WriteID == "" && op.Resource != "" {
				return &Damage{a.name, n, fmt.Sprintf("%s %q is ok and has no write_id", op.Kind, op.ID), fixRecorder}
			}
		}
	}
	if op.Resource == "" {
		return a.expand(n, op, e.Seen)
	}
	if e.Seen != nil {
		return &Damage{a.name, n, fmt.Sprintf("read %q of one resource has seen several", op.ID), fixRecorder}
	}
	a.h.Operations = append(a.h.Operations, *op)
	return nil
}

// expand makes one read per resource out of one SELECT of all rows. Each
// resource is read by a process of its own, so that the reads of one resource
// are those of a sequential process.
func (a *assembly) expand(n int, op *Operation, seen map[string]string) error {
	if op.Outcome != OK {
		return nil // it has read nothing
	}
	if len(seen) == 0 {
		return &Damage{a.name, n, fmt.Sprintf("read %q of all resources has no seen", op.ID), fixRecorder}
	}
	for resource, id := range seen {
		if id == "" {
			return &Damage{a.name, n, fmt.Sprintf("read %q has seen nothing in %q", op.ID, resource), fixRecorder}
		}
		one := *op
		one.ID, one.Process, one.Client = op.ID+"/"+resource, op.Process+"/"+resource, op.Process+"/"+resource
		one.Resource, one.WriteID = resource, id
		a.h.Operations = append(a.h.Operations, one)
	}
	return nil
}

var kinds = []Kind{Acquire, Draw, Read, Claim, Write, Renew, Check, Release}

// badOutcome says what is wrong with an outcome, "" if nothing is.
func badOutcome(k Kind, o Outcome) string {
	switch o {
	case OK, Fail, Info:
		return ""
	case Rejected:
		if k == Write || k == Claim {
			return ""
		}
	case Lost:
		if k == Renew || k == Check || k == Release {
			return ""
		}
	case "":
		return "completion without an outcome"
	default:
		return fmt.Sprintf("unknown outcome %q", o)
	}
	return fmt.Sprintf("outcome %q does not fit a %s", o, k)
}
