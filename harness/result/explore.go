package result

import "github.com/torture-harness/torture/checkers"

// ExploreSchema is the version of the format of an exploration.
const ExploreSchema = "torture/explore/1"

// Explore is an exploration: its result.json.
type Explore struct {
	Schema     string            `json:"schema"`
	Name       string            `json:"name"` // explore, replay
	Status     checkers.Status   `json:"status"`
	ExitCode   int               `json:"exit_code"`
	Seed       int64             `json:"seed"`
	Provider   string            `json:"provider"`
	Versions   map[string]string `json:"versions"`
	Images     map[string]string `json:"images,omitempty"`
	Started    string            `json:"started"`
	Seconds    float64           `json:"seconds"`
	Command    string            `json:"command"`
	Host       string            `json:"host"`
	Clients    int               `json:"clients"`
	Expiry     string            `json:"expiry"` // natural, forced
	TTL        string            `json:"ttl"`
	Strategies []Explored        `json:"strategies"`
	Errors     []string          `json:"errors,omitempty"`
}

// Explored is one strategy with all schedules that were run.
type Explored struct {
	Strategy  string            `json:"strategy"`
	Status    checkers.Status   `json:"status"`
	Reasons   []string          `json:"reasons,omitempty"` // why Status is not pass
	Dir       string            `json:"dir"`               // relative to the run folder
	Steps     []string          `json:"steps"`             // of each client
	Locker    string            `json:"locker"`
	Guard     string            `json:"guard"`
	Contract  checkers.Contract `json:"contract"`
	Space     int64             `json:"space"`     // how many schedules there are
	InFlight  int64             `json:"in_flight"` // of these, those in which a write is held
	Counts    map[Class]int     `json:"counts"`
	Differ    int               `json:"differ"` // schedules in which model and servers did not agree
	Again     int               `json:"again"`  // schedules that took more than one try to run as planned
	Seconds   float64           `json:"seconds"`
	Schedules []Schedule        `json:"schedules"`
}

// Class is what a schedule comes to: the worst that happened in it.
type Class string

// The classes of schedules, the worst first.
const (
	LockViolated Class = "lock layer violated"
	Stale        Class = "stale-overwrite"
	LostUpdate   Class = "lost update"
	LateOnNewest Class = "late write on newest data" // an old holder wrote last, on what the newer one had written
	Refused      Class = "refused"                   // a late client was refused, by the store or by the lock
	Clean        Class = "clean"
	Impossible   Class = "impossible" // it did not run as planned
)

// Classes lists them in the order in which they are shown.
var Classes = []Class{LockViolated, Stale, LostUpdate, LateOnNewest, Refused, Clean, Impossible}

// The points at which a holder is stopped, by which schedules are grouped.
const (
	StoppedAfterAcquire = "after acquire"
	StoppedAfterDraw    = "after the draw of its token"
	StoppedAfterRead    = "after read"
	StoppedAfterRenew   = "after renewal"
	StoppedAfterCheck   = "after check"
	StoppedInFlight     = "in flight"
	StoppedAfterWrite   = "after write"
	NobodyStopped       = "nobody stopped"
	NoLock              = "no lock"
)

// Groups lists them in the order of the protocol.
var Groups = []string{StoppedAfterAcquire, StoppedAfterDraw, StoppedAfterRead, StoppedAfterRenew, StoppedAfterCheck, StoppedInFlight, StoppedAfterWrite, NobodyStopped, NoLock}

// Schedule is one order of steps and what came of it.
type Schedule struct {
	ID        string                                 `json:"id"`       // a letter for each move
	Resource  string                                 `json:"resource"` // it ran on
	Group     string                                 `json:"group"`    // where the holder was stopped
	Class     Class                                  `json:"class"`
	Predicted Class                                  `json:"predicted"` // by the model
	AsPlanned bool                                   `json:"as_planned"`
	Tries     int                                    `json:"tries"`
	Reasons   []string                               `json:"reasons,omitempty"` // why it did not run as planned
	Differs   []string                               `json:"differs,omitempty"` // what the servers did otherwise than the model
	Moves     []MoveResult                           `json:"moves"`
	Verdicts  map[checkers.Property]checkers.Verdict `json:"verdicts"`
	Examples  map[checkers.Property]checkers.Example `json:"examples,omitempty"` // of what is violated
}

// MoveResult is one move with what came of it.
type MoveResult struct {
	Client    string `json:"client"`
	Do        string `json:"do"`
	Phase     string `json:"phase,omitempty"`   // sent, landed
	Stopped   string `json:"stopped,omitempty"` // who was stopped for it, until its lease had ended
	Predicted string `json:"predicted,omitempty"`
	Outcome   string `json:"outcome,omitempty"`
	Saw       string `json:"saw,omitempty"` // of a read: whose write
}
