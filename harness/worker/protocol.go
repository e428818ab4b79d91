// Package worker is the operating-system process that acts as one service
// instance: the child that carries the clients, and the supervisor that starts,
// stops, continues, kills and replaces such children.
package worker

import (
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
	Pace      workloads.Pace   `json:"pace"`
	Seed      uint64           `json:"seed"`
	History   string           `json:"history"` // path of this worker's part
}

// Command is a line from the supervisor to a child.
type Command struct {
	Do        string   `json:"do"`
	Point     string   `json:"point,omitempty"`
	Resources []string `json:"resources,omitempty"`
}

// What a Command can ask.
const (
	doBegin  = "begin"  // start the clients
	doArm    = "arm"    // wait at Point
	doDisarm = "disarm" // forget all points
	doGo     = "go"     // let those who wait go on
	doFinish = "finish" // end the clients after their present update, then exit
)

// Report is a line from a child to the supervisor.
type Report struct {
	Say      string              `json:"say"`
	Point    string              `json:"point,omitempty"`
	Resource string              `json:"resource,omitempty"`
	Time     int64               `json:"time,omitempty"`
	Progress *workloads.Progress `json:"progress,omitempty"`
	Error    string              `json:"error,omitempty"`
}

// What a Report can say.
const (
	sayReady    = "ready"    // connected, waiting for begin
	sayArrived  = "arrived"  // a client waits at Point
	sayProgress = "progress" // an operation ended
	sayError    = "error"    // it cannot go on; the process exits
)
