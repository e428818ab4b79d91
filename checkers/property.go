// Package checkers judges histories. It knows nothing of servers, containers
// or tests, so any saved run can be judged again, anywhere.
package checkers

// Property is a statement about a history that can be true or false.
type Property string

// The properties. StaleOverwrite is the primary one.
const (
	Register       Property = "register"        // reads return the current write
	StaleOverwrite Property = "stale-overwrite" // no old holder overwrites newer data that it has not seen
	FenceOrder     Property = "fence-order"     // no old holder writes after a newer one
	RMWAtomic      Property = "rmw-atomic"      // no update is lost
	LeaseExclusion Property = "lease-exclusion" // the lock is never granted to two at once
	TokenOrder     Property = "token-order"     // a newer grant has a larger token
	Durability     Property = "durability"      // every acknowledged write is in the store's journal
	Progress       Property = "progress"        // locks stay takeable, refusals are justified
)

// Properties lists all of them in the order in which they are shown.
var Properties = []Property{LeaseExclusion, StaleOverwrite, FenceOrder, RMWAtomic, TokenOrder, Register, Durability, Progress}

// Verdict is what is known about a property of one cell.
type Verdict string

// The verdicts. Neither Undecided nor Vacuous is ever a pass.
const (
	Holds         Verdict = "holds"
	Violated      Verdict = "violated"
	Undecided     Verdict = "undecided"      // the budget ran out, or the evidence does not allow a decision
	Vacuous       Verdict = "vacuous"        // too few exposures to mean anything
	NotApplicable Verdict = "not-applicable" // no lock, no tokens
)

// Promise is what a contract says about a property under a fault.
type Promise string

// The promises.
const (
	Promised  Promise = "promised"  // must hold
	Predicted Promise = "predicted" // must be found violated, or the harness was blind
	Allowed   Promise = "allowed"   // either; reported, never decides
)

// Contract says for each property what a strategy promises under one fault.
// A property it does not name is Allowed.
type Contract map[Property]Promise

// Status is the outcome of a cell or of a whole run.
type Status string

// The statuses, with the exit codes of ExitCode.
const (
	Pass         Status = "pass"
	Failed       Status = "fail"
	Inconclusive Status = "inconclusive"
	Errored      Status = "error"
)

// Finding is the judgement of one property over all resources of a cell.
type Finding struct {
	Verdict   Verdict   `json:"verdict"`
	Contract  Promise   `json:"contract"`
	Exposures int       `json:"exposures"`            // how often it could have been violated
	Count     int       `json:"count"`                // how often it was (culprits)
	Pauses    int       `json:"pauses,omitempty"`     // pauses in which there was an exposure
	PausesHit int       `json:"pauses_hit,omitempty"` // pauses in which it was violated
	Reason    string    `json:"reason,omitempty"`     // why undecided or vacuous
	Examples  []Example `json:"examples"`             // the first few violations
	DecidedBy string    `json:"decided_by"`           // journal, porcupine, or the name of a rule
	Hidden    int       `json:"hidden,omitempty"`     // resources violated in the journal and not visible to clients
	CheckedMS int64     `json:"checked_ms"`

	// Counterexamples are small pieces of the history that show it, of the first
	// resources on which clients can have seen it.
	Counterexamples []Counterexample `json:"counterexamples,omitempty"`
}

// Example is one violation: the operations that make it one, and a sentence.
type Example struct {
	Resource string   `json:"resource"`
	At       int64    `json:"at"`         // ns, the call of the culprit
	Culprit  string   `json:"culprit"`    // operation id
	Ops      []string `json:"operations"` // ids, culprit included, in order of call
	Text     string   `json:"text"`       // one sentence
}
