// Package history is the record of a run: what every client asked, when, and
// what it was told. It imports nothing else of this project, so that a saved
// history can be read, validated and judged on any machine.
//
// All times are CLOCK_MONOTONIC in nanoseconds, comparable between the
// processes of one host (see Now).
package history

import "math"

// Kind is what an operation does to its resource.
type Kind string

// The kinds of operation.
const (
	Acquire Kind = "acquire" // take the lock; ok means a grant
	Read    Kind = "read"    // read the document; WriteID is the write it saw
	Claim   Kind = "claim"   // raise the fence and read, in one statement; ok is also a read
	Write   Kind = "write"   // write the whole document; WriteID is its own, Basis the one it was computed from
	Renew   Kind = "renew"   // extend the lease of a grant
	Check   Kind = "check"   // ask whether the lock is still ours
	Draw    Kind = "draw"    // draw the fencing token of a grant, after it was given
	Release Kind = "release" // give the lock back
)

// Outcome is what is known about an operation once it has ended.
type Outcome string

// The outcomes. Only Info leaves open whether the operation took effect.
const (
	OK       Outcome = "ok"       // it took effect
	Fail     Outcome = "fail"     // it certainly had no effect
	Rejected Outcome = "rejected" // the store answered and refused it: no effect
	Lost     Outcome = "lost"     // renew, check, release: the lock is no longer ours
	Info     Outcome = "info"     // unknown
)

// InitialWrite is the write id of the document that every resource starts with.
const InitialWrite = "init"

// Never is the return time of an operation that is not known to have ended.
const Never = math.MaxInt64

// Observer is the process that reads all rows and is never stopped.
const Observer = "observer"

// Operation is one call of one process on one resource, from invocation to
// completion.
type Operation struct {
	ID       string  // unique in the run
	Process  string  // sequential actor; a client gets a new one after Info
	Worker   string  // the operating-system process it runs in; "" for the observer
	Client   string  // worker/resource; the same over all its processes
	Resource string  //
	Kind     Kind    //
	Call     int64   // ns, taken immediately before the request is sent
	Return   int64   // ns, taken after the reply was read; Never when Outcome is Info
	Outcome  Outcome //

	Grant   string // id of the acquire operation it runs under; for Acquire its own id once OK; "" without a lock
	WriteID string // Read, Claim: the id it saw. Write: its own
	Basis   string // Write: the id of the read (or claim) it was computed from

	Token     int64 // Acquire, Draw: the fencing token, 0 if the locker has none. Claim, Write: the token it carried
	LeaseCall int64 // Acquire, Renew: ns, call of the request that started this lease
	LeaseTTL  int64 // Acquire, Renew: ns, the lease the server granted; 0 without one
	Version   int64 // Read, Claim: the row's version; Write: the version it compared with

	Completed int64 // ns, time of the completion's record; equals Return unless Outcome is Info

	Error string // what the server or the network said, if it said no
	Line  int    // line of its invocation in the file it was read from, 0 if none
	End   int    // line of its completion, 0 if none
}

// JournalEntry is one write as the store accepted it. Entries of one resource
// are in the order in which the store applied them.
type JournalEntry struct {
	Seq        int64  `json:"seq"`
	Resource   string `json:"resource"`
	WriteID    string `json:"write_id"`
	Grant      string `json:"grant,omitempty"`
	Basis      string `json:"basis"`
	LastFence  int64  `json:"last_fence"`
	BackendPID int    `json:"backend_pid"`
	Time       string `json:"time"` // the server's clock_timestamp(), RFC 3339 with microseconds
}
