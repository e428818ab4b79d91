// Package result is the format of result.json, the machine-readable answer of
// a run.
package result

import "github.com/torture-harness/torture/checkers"

// Schema is the version of the format of result.json.
const Schema = "torture/result/1"

// Result is a whole run: one cell per strategy and fault.
type Result struct {
	Schema   string            `json:"schema"`
	Name     string            `json:"name"` // compare
	Status   checkers.Status   `json:"status"`
	ExitCode int               `json:"exit_code"`
	Seed     int64             `json:"seed"`
	Provider string            `json:"provider"` // container, process
	Versions map[string]string `json:"versions"` // torture, go, redis, etcd, postgres
	Images   map[string]string `json:"images,omitempty"`
	Started  string            `json:"started"` // RFC 3339
	Seconds  float64           `json:"seconds"`
	TTL      string            `json:"ttl"`
	Command  string            `json:"command"` // replays this run
	Host     string            `json:"host"`
	Cells    []Cell            `json:"cells"`
	Errors   []string          `json:"errors,omitempty"` // why Status is error
}

// Cell is one strategy under one fault.
type Cell struct {
	Strategy     string                                 `json:"strategy"`
	Fault        string                                 `json:"fault"`
	Status       checkers.Status                        `json:"status"`
	Reasons      []string                               `json:"reasons,omitempty"`  // why Status is not pass
	Warnings     []string                               `json:"warnings,omitempty"` // tolerated damage, say; decide nothing
	Dir          string                                 `json:"dir"`                // relative to the run folder
	Seed         int64                                  `json:"seed"`
	Seconds      float64                                `json:"seconds"`
	Operations   int                                    `json:"operations"`
	Updates      int                                    `json:"updates"` // acknowledged writes
	Refused      int                                    `json:"refused"` // writes and claims the store refused
	Unknown      int                                    `json:"unknown"` // operations with outcome info
	Pauses       int                                    `json:"pauses"`
	PausesLanded int                                    `json:"pauses_landed"`
	BusyPercent  float64                                `json:"busy_percent"`
	Throughput   float64                                `json:"throughput_per_s"` // acknowledged writes
	WaitP50MS    float64                                `json:"wait_p50_ms"`      // from wanting the lock to having it
	WaitP99MS    float64                                `json:"wait_p99_ms"`
	FirstAnomaly *float64                               `json:"first_anomaly_ms"` // from the workload's start; null if none
	Properties   map[checkers.Property]checkers.Finding `json:"properties"`
}
