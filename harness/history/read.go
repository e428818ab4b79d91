package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
)

// ReadFile reads a history.jsonl. See Parse.
func ReadFile(path string) (*History, error) {
	f, err := Open(path)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	defer f.Close()
	c := newCollection(path)
	if info, err := f.Stat(); err == nil {
		c.size = info.Size()
	}
	return c.parse(f)
}

// Parse reads a history in JSON lines; name is used in messages. A torn last
// line is tolerated and reported in Warnings. Anything else that is not as a
// recorder writes it is a *Damage with its line. Whether what the history says
// can have happened is not asked here but by Validate.
func Parse(r io.Reader, name string) (*History, error) {
	return newCollection(name).parse(r)
}

// assembly puts operations together from their two lines.
type assembly struct {
	name    string
	header  *Header // nil until it was read
	open    map[string]*opened
	sink    sink
	decoder *decoder
	event   Event // of the present line
	decoded bool  // it is
	before  int64 // bytes of the lines before it
	bytes   int64 // and with it
	spare   []*opened
}

// opened is an operation that is not completed yet.
type opened struct {
	Operation
	slot   int    // in a collection
	follow follow // what a watch has seen since it was called
}

// sink takes what an assembly reads.
type sink interface {
	// invoked is told of an operation, which is filled in until it is completed.
	invoked(op *opened) error
	// completed is told of its end. seen is not nil for a read of all resources.
	completed(op *opened, seen map[string]string) error
	// closed is the line in which an operation was invoked that is completed.
	closed(id string) (line int, yes bool, err error)
	fault(f FaultEvent)
	other(e Event)
}

func newAssembly(name string, to sink) *assembly {
	return &assembly{name: name, open: map[string]*opened{}, sink: to, decoder: newDecoder()}
}

// read reads all lines. It returns what is tolerated, "" if nothing is amiss.
func (a *assembly) read(r io.Reader) (warning string, err error) {
	torn, err := readLines(r, a.name, a.quick, a.line)
	if err != nil {
		return "", err
	}
	if a.header == nil {
		return "", &Damage{a.name, 1, "no header", fixCut}
	}
	if torn != nil {
		return torn.Error(), nil
	}
	return "", nil
}

func (a *assembly) quick(text []byte) bool {
	a.before = a.bytes
	a.bytes += int64(len(text)) + 1
	a.event = Event{}
	a.decoded = a.decoder.event(text, &a.event)
	return a.decoded
}

func (a *assembly) line(n int, text []byte) error {
	e := &a.event
	if !a.decoded {
		*e = Event{}
		if err := json.Unmarshal(text, e); err != nil {
			return &Damage{a.name, n, "not an event: " + err.Error(), fixCut}
		}
	}
	if a.header == nil {
		return a.head(n, e)
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
		a.sink.fault(FaultEvent{Fault: *e.Fault, Time: e.Time, Line: n})
	case TypeWant, TypeGiveUp, TypeArrive, TypeLeave, TypeWorker, TypeStall, TypeClock, TypeLoad, TypeNote:
		a.sink.other(*e)
	default:
		return &Damage{a.name, n, fmt.Sprintf("unknown type of line %q", e.Type), fixVersion}
	}
	return nil
}

func (a *assembly) head(n int, e *Event) error {
	if e.Type != TypeHeader || e.Header == nil {
		return &Damage{a.name, n, "the first line is not a header", fixCut}
	}
	if e.Header.Schema != Schema {
		return &Damage{a.name, n, fmt.Sprintf("unknown schema %q, this version reads %q", e.Header.Schema, Schema), fixVersion}
	}
	a.header = e.Header
	return nil
}

func (a *assembly) invoke(n int, e *Event) error {
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
	first, again, err := a.sink.closed(e.Op)
	if err != nil {
		return err
	}
	if op := a.open[e.Op]; op != nil {
		first, again = op.Line, true
	}
	if again {
		return &Damage{a.name, n, fmt.Sprintf("operation %q was invoked before, in line %d", e.Op, first), fixRecorder}
	}
	op := a.fresh()
	op.Operation = Operation{
		ID: e.Op, Process: e.Process, Worker: e.Worker, Client: cmp.Or(e.Client, e.Process), Resource: e.Resource,
		Kind: e.Kind, Call: e.Time, Grant: e.Grant, WriteID: e.WriteID, Basis: e.Basis,
		Token: e.Token, LeaseCall: e.LeaseCall, LeaseTTL: e.LeaseTTL, Version: e.Version,
		Line: n,
	}
	a.open[e.Op] = op
	return a.sink.invoked(op)
}

func (a *assembly) fresh() *opened {
	last := len(a.spare) - 1
	if last < 0 {
		return &opened{}
	}
	op := a.spare[last]
	a.spare = a.spare[:last]
	*op = opened{}
	return op
}

func (a *assembly) complete(n int, e *Event) error {
	op := a.open[e.Op]
	if op == nil {
		first, again, err := a.sink.closed(e.Op)
		switch {
		case err != nil:
			return err
		case again:
			return &Damage{a.name, n, fmt.Sprintf("operation %q of line %d is completed twice", e.Op, first), fixRecorder}
		}
		return &Damage{a.name, n, fmt.Sprintf("completion of %q without its invocation", e.Op), fixCut}
	}
	if e.Time <= 0 {
		return &Damage{a.name, n, fmt.Sprintf("completion of %q has no time", e.Op), fixRecorder}
	}
	for _, f := range [...]struct{ name, was, is string }{
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
	a.spare = append(a.spare, op)
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
	if what := badSeen(&op.Operation, e.Seen); what != "" {
		return &Damage{a.name, n, what, fixRecorder}
	}
	return a.sink.completed(op, e.Seen)
}

// badSeen says what is wrong with what a read of all resources has seen.
func badSeen(op *Operation, seen map[string]string) string {
	switch {
	case op.Resource != "" && seen != nil:
		return fmt.Sprintf("read %q of one resource has seen several", op.ID)
	case op.Resource != "" || op.Outcome != OK:
		return ""
	case len(seen) == 0:
		return fmt.Sprintf("read %q of all resources has no seen", op.ID)
	}
	for _, resource := range slices.Sorted(maps.Keys(seen)) {
		if seen[resource] == "" {
			return fmt.Sprintf("read %q has seen nothing in %q", op.ID, resource)
		}
	}
	return ""
}

// each makes one read per resource out of one SELECT of all rows. Each resource
// is read by a process of its own, so that the reads of one resource are those
// of a sequential process. One that was not answered has read nothing.
func each(op *Operation, seen map[string]string) []Operation {
	if op.Outcome != OK {
		return nil
	}
	var out []Operation
	for _, resource := range slices.Sorted(maps.Keys(seen)) {
		one := *op
		one.ID, one.Process, one.Client = op.ID+"/"+resource, op.Process+"/"+resource, op.Process+"/"+resource
		one.Resource, one.WriteID = resource, seen[resource]
		out = append(out, one)
	}
	return out
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
