package history

// Schema is the version of the format of history.jsonl.
const Schema = "torture/history/1"

// Type tells the lines of a history apart.
type Type string

// The types of line.
const (
	TypeHeader   Type = "header"   // first line: what run and cell this is
	TypeInvoke   Type = "invoke"   // an operation is about to be sent
	TypeComplete Type = "complete" // its reply was read, or it is known that none will be
	TypeFault    Type = "fault"    // the nemesis did something
	TypeWant     Type = "want"     // a client begins to want the lock; until its next ok acquire or give-up
	TypeArrive   Type = "arrive"   // a client reached an armed breakpoint
	TypeLeave    Type = "leave"    // it was told to go on
	TypeGiveUp   Type = "give-up"  // a client stops wanting the lock, for the cell ends
	TypeWorker   Type = "worker"   // a worker started, exited, was killed
	TypeStall    Type = "stall"    // a process noticed that it did not run for a while
	TypeClock    Type = "clock"    // CLOCK_REALTIME minus CLOCK_MONOTONIC
	TypeLoad     Type = "load"     // how busy the machine was while the clients ran
	TypeNote     Type = "note"     // anything else worth keeping; decides nothing
)

// Event is one line of history.jsonl. Which fields are set depends on Type.
type Event struct {
	Type Type  `json:"t"`
	Time int64 `json:"time"` // ns, CLOCK_MONOTONIC

	// invoke, complete
	Op       string  `json:"op,omitempty"`
	Process  string  `json:"process,omitempty"`
	Worker   string  `json:"worker,omitempty"`
	Client   string  `json:"client,omitempty"`
	Resource string  `json:"resource,omitempty"`
	Kind     Kind    `json:"kind,omitempty"`
	Outcome  Outcome `json:"outcome,omitempty"`
	Grant    string  `json:"grant,omitempty"`
	WriteID  string  `json:"write_id,omitempty"`
	Basis    string  `json:"basis,omitempty"`
	Token    int64   `json:"token,omitempty"`
	// LeaseCall and LeaseTTL are in ns; on a complete line.
	LeaseCall int64  `json:"lease_call,omitempty"`
	LeaseTTL  int64  `json:"lease_ttl,omitempty"`
	Version   int64  `json:"version,omitempty"`
	Error     string `json:"error,omitempty"`

	// Seen, on a completed read without a resource, is one SELECT of all rows:
	// resource to write id. It stands for one read of each.
	Seen map[string]string `json:"seen,omitempty"`

	Header *Header `json:"header,omitempty"`
	Fault  *Fault  `json:"fault,omitempty"`

	Point  string  `json:"point,omitempty"`  // arrive, leave: the breakpoint
	Status string  `json:"status,omitempty"` // worker: started, exited, killed
	PID    int     `json:"pid,omitempty"`    // worker
	Gap    int64   `json:"gap,omitempty"`    // stall: ns without running, ended at Time
	Offset int64   `json:"offset,omitempty"` // clock: ns
	Busy   float64 `json:"busy,omitempty"`   // load: percent of all cores
	Note   string  `json:"note,omitempty"`
}

// Header is the first line of a history.
type Header struct {
	Schema    string   `json:"schema"`
	Run       string   `json:"run"`
	Strategy  string   `json:"strategy"`
	Fault     string   `json:"fault"`
	Locker    string   `json:"locker"`            // redis-setnx, redlock, etcd, none
	Guard     string   `json:"guard"`             // plain, fenced, claim, version
	LeaseBy   string   `json:"lease_by"`          // redis, etcd, "" : whose clock ends the lease
	Tokens    bool     `json:"tokens"`            // the locker gives fencing tokens
	Resends   bool     `json:"resends,omitempty"` // a client may write again under a grant whose last write's fate is unknown
	TTL       int64    `json:"ttl"`               // ns, the lease asked for
	Resources []string `json:"resources"`         //
	Workers   []string `json:"workers"`           //
	Seed      int64    `json:"seed"`              //
	Host      string   `json:"host,omitempty"`    //
	Piece     *Piece   `json:"piece,omitempty"`   // of a history that is a piece of another
}

// Phase is a moment in the life of a fault.
type Phase string

// The phases of a fault, in their order. Not every fault has all of them.
const (
	Armed    Phase = "armed"    // breakpoint armed, victims gather
	Stopped  Phase = "stopped"  // every thread of the victim was seen stopped
	Resumed  Phase = "resumed"  // about to let the victim go on (stamp before SIGCONT)
	Held     Phase = "held"     // the victim's requests have been sent and are held on their way
	Released Phase = "released" // about to let them go on (stamp before the first byte)
	Killed   Phase = "killed"   // the victim is gone
	Healed   Phase = "healed"   // the fault is over, its effect on the victim too
	Failed   Phase = "failed"   // it could not be done; Detail says why
)

// Fault is one moment of one fault.
type Fault struct {
	ID      string   `json:"id"`                // the same over all phases of one fault
	Kind    string   `json:"kind"`              // pause-holder, pause-random, kill-worker
	Phase   Phase    `json:"phase"`             //
	Victim  string   `json:"victim"`            // worker
	Point   string   `json:"point,omitempty"`   // the breakpoint, P3 say
	Planned int64    `json:"planned,omitempty"` // ns, the length the plan asked for
	Threads int      `json:"threads,omitempty"` // Stopped: how many were seen in state T
	Written []string `json:"written,omitempty"` // resources with the order "new holder has written before the old one resumes"
	Held    []string `json:"held,omitempty"`    // resources with the order "new holder has read but not written"
	Detail  string   `json:"detail,omitempty"`

	Bytes map[string]int `json:"bytes,omitempty"` // Held, Released: resource to how much of its request is held, the proof
}

// Pause is one stop of one worker or server, or one delay of a worker's
// requests, put together from its Fault events.
type Pause struct {
	ID      string
	Kind    string
	Worker  string // or server
	Point   string
	From    int64 // ns, when all threads had been seen stopped, or all requests held
	To      int64 // ns, immediately before it was let go on; Never if it was not
	Delay   bool  // nobody was stopped: requests were held on their way
	Threads int
	Written []string
	Held    []string
	Detail  string
	Bytes   map[string]int // of a delay: resource to how much of its request was held
}

// History is a whole recorded cell.
type History struct {
	File       string // where it was read from, for messages
	Header     Header
	Operations []Operation // by Call
	Faults     []FaultEvent
	Events     []Event  // everything that is neither an operation nor a fault: arrive, leave, worker, stall, clock, note
	Warnings   []string // tolerated damage, a torn last line say
}

// FaultEvent is a Fault with its time.
type FaultEvent struct {
	Fault
	Time int64
	Line int
}
