package result

import "github.com/torture-harness/torture/checkers"

// ClaimsSchema is the version of the format of a run of claims.
const ClaimsSchema = "torture/claims/1"

// Claims is a run of claims: its result.json.
type Claims struct {
	Schema   string            `json:"schema"`
	Name     string            `json:"name"` // claims
	Status   checkers.Status   `json:"status"`
	ExitCode int               `json:"exit_code"`
	Seed     int64             `json:"seed"`
	Provider string            `json:"provider"`
	Versions map[string]string `json:"versions"`
	Images   map[string]string `json:"images,omitempty"`
	Started  string            `json:"started"`
	Seconds  float64           `json:"seconds"`
	Command  string            `json:"command"`
	Host     string            `json:"host"`
	SelfTest bool              `json:"self_test,omitempty"` // what each claim rests on was broken
	Claims   []Claim           `json:"claims"`
	Errors   []string          `json:"errors,omitempty"`
}

// ClaimVerdict is what a claim comes to.
type ClaimVerdict string

// The verdicts of a claim.
const (
	AsClaimed         ClaimVerdict = "ok"
	NotAsClaimed      ClaimVerdict = "NOT AS CLAIMED"
	InconclusiveClaim ClaimVerdict = "inconclusive" // its situation did not occur, or cannot be brought about here
	BrokenClaim       ClaimVerdict = "error"
)

// Claim is one claim with what came out.
type Claim struct {
	ID      string       `json:"id"`
	Says    string       `json:"says"`
	Verdict ClaimVerdict `json:"verdict"`
	Cases   []ClaimCase  `json:"cases"`
	Seconds float64      `json:"seconds"`
	Broken  string       `json:"broken,omitempty"` // self-test: what was changed
}

// ClaimCase is one case with what came out.
type ClaimCase struct {
	Name     string                                 `json:"name"`
	About    string                                 `json:"about"`
	Strategy string                                 `json:"strategy"`
	Verdict  ClaimVerdict                           `json:"verdict"`
	Reasons  []string                               `json:"reasons,omitempty"` // why it is not ok
	Happened string                                 `json:"happened"`
	Expected string                                 `json:"expected"`
	Found    []Found                                `json:"found"`
	Proofs   []Proof                                `json:"proofs"`
	Evidence []Evidence                             `json:"evidence"` // the deciding operations
	Verdicts map[checkers.Property]checkers.Verdict `json:"verdicts"`
	Dir      string                                 `json:"dir"` // relative to the run folder
	Seconds  float64                                `json:"seconds"`
}

// Found is one thing that was expected, with what came out.
type Found struct {
	What string `json:"what"`
	Want string `json:"want"`
	Got  string `json:"got"`
	OK   bool   `json:"ok"`
}

// Proof is one part of the situation that a claim is about, and whether it occurred.
type Proof struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	How  string `json:"how"` // figures
}

// Evidence is one operation in words.
type Evidence struct {
	At   float64 `json:"at"` // s since the first
	Who  string  `json:"who"`
	What string  `json:"what"`
}
