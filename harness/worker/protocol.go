// Package worker is the operating-system process that acts as one service
// instance: the child that carries the clients, and the supervisor that starts,
// stops, continues, kills and replaces such children.
package worker

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/torture-harness/torture/workloads"
)

// Setup is the first line a child reads: everything it must know. It comes over
// a pipe, because it holds passwords.
type Setup struct {
	Worker    string           `json:"worker"`
	Cell      string           `json:"cell"` // unique; prefix of lock keys and connection names
	Strategy  string           `json:"strategy"`
	Places    workloads.Places `json:"places"`
	Resources []string         `json:"resources"`
	TTL       time.Duration    `json:"ttl"`
	Patience  time.Duration    `json:"patience"`
	PerNode   time.Duration    `json:"per_node,omitempty"` // how long one of several nodes may take to answer; 0 is the locker's own choice
	Pace      workloads.Pace   `json:"pace"`
	Seed      uint64           `json:"seed"`
	History   string           `json:"history"`             // path of this worker's part
	Value     string           `json:"value,omitempty"`     // of its locks, where it is not drawn for each holding
	Renews    bool             `json:"renews,omitempty"`    // it only prolongs the leases that it is handed
	Cast      []Role           `json:"cast,omitempty"`      // who is played step by step; then nobody runs by itself
	Unwatched bool             `json:"unwatched,omitempty"` // its stalls are not recorded, for none can excuse anything
	Keeper    string           `json:"keeper,omitempty"`    // host:port; it keeps the numbers of a fence there, and does nothing else
}

// Role is one client that does what it is told.
type Role struct {
	Name     string `json:"name"`
	Resource string `json:"resource"`
}

// Command is a line from the supervisor to a child.
type Command struct {
	Do        string   `json:"do"`
	Point     string   `json:"point,omitempty"`
	Resources []string `json:"resources,omitempty"`

	Client string          `json:"client,omitempty"` // who does the Step, gives it up, adopts
	ID     int             `json:"id,omitempty"`     // of the Step; in the report of its end too
	Step   *workloads.Step `json:"step,omitempty"`
	Held   *workloads.Held `json:"held,omitempty"`
	Role   *Role           `json:"role,omitempty"` // whom a new client plays in the place of Client
}

// What a Command can ask.
const (
	doBegin  = "begin"  // start the clients
	doArm    = "arm"    // wait at Point
	doDisarm = "disarm" // forget all points
	doGo     = "go"     // let those who wait go on
	doFinish = "finish" // end the clients after their present update, then exit

	doStep   = "step"    // Client does Step, after those it was given before
	doGiveUp = "give-up" // Client gives up the request in hand
	doRecast = "recast"  // a new client, in Role, takes the place of Client and its connection
	doAdopt  = "adopt"   // Client acts under Held from now on; a renewer prolongs it
	doKept   = "kept"    // the lease of Held is being prolonged by the renewer
	doLost   = "lost"    // it was lost before the renewer could
	doDrop   = "drop"    // a renewer prolongs Held no more
)

// parseCommand reads a line. What a command is about comes with it.
func parseCommand(line []byte) (Command, error) {
	var c Command
	if err := json.Unmarshal(line, &c); err != nil {
		return c, err
	}
	switch c.Do {
	case doStep:
		if c.Step == nil {
			return c, fmt.Errorf("%q without a step", c.Do)
		}
	case doRecast:
		if c.Role == nil {
			return c, fmt.Errorf("%q without a role", c.Do)
		}
	case doAdopt, doKept, doLost, doDrop:
		if c.Held == nil {
			return c, fmt.Errorf("%q without a grant", c.Do)
		}
	}
	return c, nil
}

// Report is a line from a child to the supervisor.
type Report struct {
	Say      string              `json:"say"`
	Point    string              `json:"point,omitempty"`
	Resource string              `json:"resource,omitempty"`
	Time     int64               `json:"time,omitempty"`
	Progress *workloads.Progress `json:"progress,omitempty"`
	Error    string              `json:"error,omitempty"`

	Client string          `json:"client,omitempty"` // arrived, done
	ID     int             `json:"id,omitempty"`     // done: of the step
	Done   *workloads.Done `json:"done,omitempty"`
	Held   *workloads.Held `json:"held,omitempty"` // done: the grant the client acts under
}

// What a Report can say.
const (
	sayReady    = "ready"    // connected, waiting for begin
	sayArrived  = "arrived"  // a client waits at Point
	sayProgress = "progress" // an operation ended
	sayError    = "error"    // it cannot go on; the process exits
	sayDone     = "done"     // the step ID has ended; Error if it made no sense
	sayHeld     = "held"     // Held is to be prolonged by the renewer
	sayDropped  = "dropped"  // and no longer
	sayKept     = "kept"     // a renewer has prolonged Held for the first time
	sayLost     = "lost"     // or could not
)

// parseReport reads a line. What a report is about comes with it.
func parseReport(line []byte) (Report, error) {
	var r Report
	if err := json.Unmarshal(line, &r); err != nil {
		return r, err
	}
	switch r.Say {
	case sayProgress:
		if r.Progress == nil {
			return r, fmt.Errorf("%q without an operation", r.Say)
		}
	case sayHeld, sayDropped, sayKept, sayLost:
		if r.Held == nil {
			return r, fmt.Errorf("%q without a grant", r.Say)
		}
	case sayDone:
		if r.Error == "" && (r.Done == nil || r.Held == nil) {
			return r, fmt.Errorf("%q without what was done", r.Say)
		}
	}
	return r, nil
}
