// Package foreign reads histories that others have recorded: Jepsen's EDN, the
// log of a Jepsen run, and JSON lines. It also writes EDN for Jepsen.
//
// Whatever the format, a history is a sequence of events, and the order of the
// events in the file is the order in which they happened. An event invokes an
// operation of a process or completes it: ok (it took effect), fail (it
// certainly did not) or info (unknown). See docs/histories.md, and
// https://github.com/jepsen-io/history for where the words come from.
//
// A reader is strict. What it does not understand is an error with line and
// column; what it leaves out on purpose it counts in Left.
package foreign

import (
	"fmt"
	"math"
)

// History is everything the clients of one file did.
type History struct {
	File   string
	Format Format
	Layout string // of EDN: a vector, a list, or bare maps
	Keyed  bool   // operations belong to independent keys
	Left   Left

	Operations []Operation // in the order of their invocations
}

// Left counts what was left out: it decides nothing.
type Left struct {
	Nemesis int // events of processes that are no clients
	Lines   int // lines of a log that are no events
}

// Outcome is how an operation ended.
type Outcome int

// The outcomes.
const (
	Unknown Outcome = iota // info, or no completion at all
	OK                     // it took effect
	Failed                 // it certainly had no effect
)

// Never is the Return of an operation whose outcome is unknown.
const Never = math.MaxInt64

// NoTime stands for a time that the file does not give.
const NoTime = math.MinInt64

// Operation is one call of one process.
type Operation struct {
	Process string // as EDN
	F       string // what it does: read, write, cas, acquire, release
	Key     string // as EDN; "" without independent keys
	Value   Value  // without the key; that of the completion where there is one
	Outcome Outcome

	Call, Return int64 // places in the order of all events, from 1; Return is Never when Unknown
	End          int64 // place of its completion whatever that says; 0 without one

	Invoked   Position // of its invocation
	Completed Position // of its completion; zero without one
	CallTime  int64    // ns, as recorded; NoTime if the file has none
	EndTime   int64    // of the completion
}

// Lines says where an operation stands in its file.
func (o *Operation) Lines() string {
	switch {
	case o.Completed.Line == 0, o.Completed.Line == o.Invoked.Line:
		return fmt.Sprintf("line %d", o.Invoked.Line)
	}
	return fmt.Sprintf("lines %d and %d", o.Invoked.Line, o.Completed.Line)
}

// Position is a place in a file. Both count from 1; columns count characters.
type Position struct{ Line, Column int }

// Damage is a place in a file that makes it unusable as evidence.
type Damage struct {
	File string
	Position
	What string // what is wrong, or what was expected instead
}

// Error is one line: "file:line:column: what".
func (d *Damage) Error() string {
	if d.Line == 0 {
		return d.File + ": " + d.What
	}
	return fmt.Sprintf("%s:%d:%d: %s", d.File, d.Line, d.Column, d.What)
}
