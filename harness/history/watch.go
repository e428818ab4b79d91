package history

import (
	"errors"
	"slices"
	"strings"
)

// watch makes the checks of Validate while a history passes by, and remembers
// eight bytes of each operation, write and read instead of the history. It needs
// lines in the order of their times, as Merge writes them, for then whatever an
// operation must not precede has already passed, or stands at the same time.
//
// Of each check it keeps the worst place only: the line of the first operation
// that fails it. What exactly is wrong there is found by Validate itself, in a
// second pass that reads only the operations which have to do with it.
type watch struct {
	*assembly
	set     *fingerprints
	now     int64
	pending []claim // about what may still come at the same time
	worst   [len(checks)]fault

	running  map[string]*course // processes whose last outcome is known
	dead     map[uint64]int     // the others, to the line in which they began
	clients  map[string]bool
	prefixes map[string]bool // of processes and clients, before each '/'
	readers  map[string]bool // processes that read all resources, to: is reading
	rows     bool            // there were reads of all resources
	writing  map[uint64]*opened
	granted  map[string][]*opened // open writes and claims by grant

	operations int
}

// fault is where a check fails; line 0 if it does not.
type fault struct {
	line  int
	began int // of a process: the line in which it began
	last  int // of a process: the line of the operation before
}

// follow is what is learned about an operation while it is open.
type follow struct {
	next     int   // line of the operation that its process goes on with; 0 if none
	nextCall int64 //
	seen     int   // a write: the first line of a read that saw it
	goesOn   int   // a write or claim: the line of the next of its grant
	under    bool  // its grant is known
	course   *course
}

// course is the life of a process so far.
type course struct {
	began int
	open  *opened
}

// claim is something that must have happened by now, or else line is wrong.
type claim struct {
	check int
	h     uint64
	mark  uint64
	line  int
}

// errStrange is that a history has to be validated as a whole.
var errStrange = errors.New("cannot be validated line by line")

func newWatch(name string) *watch {
	w := &watch{
		set: newFingerprints(), running: map[string]*course{}, dead: map[uint64]int{},
		clients: map[string]bool{}, prefixes: map[string]bool{}, readers: map[string]bool{},
		writing: map[uint64]*opened{}, granted: map[string][]*opened{},
	}
	w.assembly = newAssembly(name, w)
	return w
}

// Uses of fingerprints.
const (
	useOperation = iota // by id; marked with the owner, if it is a grant
	useWrite            // by write id; marked with the resource, 0 if it had no effect
	useRead             // client, resource, write id
	useFinished         // a grant that may write no more
	useOwner            // client, resource
	useResource
	useProcess
	useRows // id of a read of all resources
)

func (w *watch) fault(FaultEvent) {}
func (w *watch) other(Event)      {}

func (w *watch) fails(check, line int) {
	if f := &w.worst[check]; f.line == 0 || line < f.line {
		f.line = line
	}
}

// failsIn is fails for a process: what counts first is which began first.
func (w *watch) failsIn(began, last, line int) {
	if f := &w.worst[checkSequential]; f.line == 0 || began < f.began || began == f.began && line < f.line {
		*f = fault{line, began, last}
	}
}

// advance settles the claims of the time that is over.
func (w *watch) advance(to int64) error {
	if to < w.now {
		return errStrange
	}
	if to == w.now {
		return nil
	}
	w.now = to
	for _, c := range w.pending {
		if !w.holds(c) {
			w.fails(c.check, c.line)
		}
	}
	w.pending = w.pending[:0]
	return nil
}

// holds also tells an open write that it was seen.
func (w *watch) holds(c claim) bool {
	found, there := w.set.get(c.h)
	if !there || found != c.mark {
		return false
	}
	if c.check == checkReads {
		if op := w.writing[c.h]; op != nil && (op.follow.seen == 0 || c.line < op.follow.seen) {
			op.follow.seen = c.line
		}
	}
	return true
}

func (w *watch) claim(c claim) {
	if !w.holds(c) {
		w.pending = append(w.pending, c)
	}
}

func (w *watch) invoked(op *opened) error {
	if w.header.Piece != nil {
		return errStrange // small, and with exceptions
	}
	if err := w.advance(op.Call); err != nil {
		return err
	}
	if err := w.named(op); err != nil {
		return err
	}
	if op.Resource == "" {
		if w.readers[op.Process] || op.Grant != "" {
			return errStrange
		}
		w.readers[op.Process] = true
		return nil
	}
	w.goOn(op)
	if op.Kind == Write {
		w.write(op)
	}
	if op.Grant != "" && op.Kind != Acquire {
		w.under(op)
	}
	return nil
}

// named refuses names that could be those of the reads which one read of all
// resources stands for.
func (w *watch) named(op *opened) error {
	if w.partOfRows(op.ID, "") {
		return errStrange
	}
	if op.Resource == "" {
		if _, known := w.readers[op.Process]; !known {
			if w.prefixes[op.Process] || w.within(op.Process) {
				return errStrange
			}
			w.readers[op.Process] = false
		}
		return nil
	}
	if w.running[op.Process] == nil && w.within(op.Process) {
		return errStrange
	}
	if !w.clients[op.Client] {
		w.clients[op.Client] = true
		if w.within(op.Client) {
			return errStrange
		}
	}
	return nil
}

// partOfRows: the id begins with that of a read of all resources, not itself.
func (w *watch) partOfRows(id, itself string) bool {
	for at, c := range id {
		if c != '/' || !w.rows || id[:at] == itself {
			continue
		}
		if _, reads := w.set.get(w.set.of(useRows, id[:at])); reads {
			return true
		}
	}
	return false
}

// within: the name begins with that of a process which reads all resources.
func (w *watch) within(name string) bool {
	for at, c := range name {
		if c != '/' {
			continue
		}
		if _, reads := w.readers[name[:at]]; reads {
			return true
		}
		if !w.prefixes[name[:at]] {
			w.prefixes[strings.Clone(name[:at])] = true
		}
	}
	return false
}

// goOn: the process calls the next operation.
func (w *watch) goOn(op *opened) {
	c := w.running[op.Process]
	if c == nil {
		began, dead := w.dead[w.set.of(useProcess, op.Process)]
		if dead {
			w.failsIn(began, 0, op.Line)
			return
		}
		c = &course{began: op.Line}
		w.running[op.Process] = c
	}
	if c.open != nil && c.open.follow.next == 0 {
		c.open.follow.next, c.open.follow.nextCall = op.Line, op.Call
	}
	c.open, op.follow.course = op, c
}

func (w *watch) write(op *opened) {
	h := w.set.of(useWrite, op.WriteID)
	if _, again := w.set.get(h); again || op.WriteID == InitialWrite {
		w.fails(checkIndex, op.Line)
	}
	w.set.put(h, mark(w.set.of(useResource, op.Resource)))
	w.writing[h] = op
	if op.Basis == op.WriteID {
		w.fails(checkBases, op.Line)
		return
	}
	w.claim(claim{checkBases, w.set.of(useRead, op.Client, op.Resource, op.Basis), 0, op.Line})
}

// under: the operation is done under a grant, which must have been given.
func (w *watch) under(op *opened) {
	op.follow.under = true
	w.claim(claim{checkGrants, w.set.of(useOperation, op.Grant), mark(w.set.of(useOwner, op.Client, op.Resource)), op.Line})
	if w.header.Resends || op.Kind != Write && op.Kind != Claim {
		return
	}
	if _, over := w.set.get(w.set.of(useFinished, op.Grant)); over {
		w.fails(checkFinished, op.Line)
	}
	open := w.granted[op.Grant]
	for _, before := range open {
		if before.follow.goesOn == 0 {
			before.follow.goesOn = op.Line
		}
	}
	w.granted[op.Grant] = append(open, op)
}

func (w *watch) completed(op *opened, seen map[string]string) error {
	if err := w.advance(op.Completed); err != nil {
		return err
	}
	if op.Call >= op.Return {
		w.fails(checkIntervals, op.Line)
	}
	if op.Resource == "" {
		return w.completedRows(op, seen)
	}
	w.operations++
	if op.Grant != "" && op.Kind != Acquire && !op.follow.under {
		return errStrange // its grant comes late
	}
	owner := uint64(0)
	if op.Kind == Acquire && op.Outcome == OK {
		owner = mark(w.set.of(useOwner, op.Client, op.Resource))
	}
	w.set.put(w.set.of(useOperation, op.ID), owner)
	w.rest(op)
	if op.Kind == Write {
		w.written(op)
	}
	if op.follow.under && !w.header.Resends && (op.Kind == Write || op.Kind == Claim) {
		w.wroteUnder(op)
	}
	if op.hasRead() {
		w.saw(op.Resource, op.WriteID, op.Line)
		w.set.put(w.set.of(useRead, op.Client, op.Resource, op.WriteID), 0)
	}
	return nil
}

// completedRows stands for one read of each resource. Since they are the only
// ones of their processes and clients (see named), only what they saw matters.
func (w *watch) completedRows(op *opened, seen map[string]string) error {
	w.readers[op.Process] = false
	if op.Grant != "" {
		return errStrange
	}
	w.set.put(w.set.of(useOperation, op.ID), 0)
	if op.Outcome != OK {
		return nil
	}
	w.rows = true
	w.set.put(w.set.of(useRows, op.ID), 0)
	w.operations += len(seen)
	for resource, id := range seen {
		one := op.ID + "/" + resource
		if _, taken := w.set.get(w.set.of(useOperation, one)); taken || w.open[one] != nil || w.partOfRows(one, op.ID) {
			return errStrange
		}
		w.saw(resource, id, op.Line)
	}
	return nil
}

// rest: the process has nothing open, unless it went on too early.
func (w *watch) rest(op *opened) {
	c := op.follow.course
	if c == nil {
		return
	}
	if f := op.follow; f.next != 0 && (op.Outcome == Info || f.nextCall < op.Return) {
		w.failsIn(c.began, op.Line, f.next)
	}
	if c.open != op {
		return
	}
	c.open = nil
	if op.Outcome == Info {
		w.dead[w.set.of(useProcess, op.Process)] = c.began
		delete(w.running, op.Process)
	}
}

func (w *watch) written(op *opened) {
	h := w.set.of(useWrite, op.WriteID)
	delete(w.writing, h)
	if op.Outcome != OK && op.Outcome != Info {
		w.set.put(h, 0)
		if op.follow.seen != 0 {
			w.fails(checkReads, op.follow.seen)
		}
	}
}

// wroteUnder: a write or claim under a grant has ended.
func (w *watch) wroteUnder(op *opened) {
	open := slices.DeleteFunc(w.granted[op.Grant], func(o *opened) bool { return o == op })
	if w.granted[op.Grant] = open; len(open) == 0 {
		delete(w.granted, op.Grant)
	}
	if op.Outcome == Info {
		w.set.put(w.set.of(useFinished, op.Grant), 0)
		if op.follow.goesOn != 0 {
			w.fails(checkFinished, op.follow.goesOn)
		}
	}
}

func (w *watch) saw(resource, id string, line int) {
	if id != InitialWrite {
		w.claim(claim{checkReads, w.set.of(useWrite, id), mark(w.set.of(useResource, resource)), line})
	}
}

// finish settles what is left when all lines have been read.
func (w *watch) finish() {
	_ = w.advance(Never) // never backwards
	for _, op := range w.open {
		w.fails(checkIntervals, op.Line)
	}
}

// closed is sure of its answer: what looks like an id that was used before is
// looked up in the lines before this one.
func (w *watch) closed(id string) (line int, yes bool, err error) {
	if _, there := w.set.get(w.set.of(useOperation, id)); !there {
		return 0, false, nil
	}
	found, err := pick(w.assembly.name, w.before, func(op *Operation) bool { return op.ID == id })
	if err != nil || len(found.Operations) == 0 {
		return 0, false, err
	}
	return found.Operations[0].Line, true, nil
}

// forget gives back the memory for what comes after.
func (w *watch) forget() { w.set = nil }
