package claims

import (
	"fmt"
	"slices"
	"strings"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
)

// Short names for what a row is made of; see package result.
type (
	Verdict  = result.ClaimVerdict
	Row      = result.Claim
	CaseRow  = result.ClaimCase
	Found    = result.Found
	Proof    = result.Proof
	Evidence = result.Evidence
	Result   = result.Claims
)

// The verdicts of a claim.
const (
	OK           = result.AsClaimed
	NotAsClaimed = result.NotAsClaimed
	Inconclusive = result.InconclusiveClaim
	Broken       = result.BrokenClaim
)

// severity orders verdicts as the exit codes do.
var severity = []Verdict{OK, Inconclusive, Broken, NotAsClaimed}

// worst is the verdict of several.
func worst(all ...Verdict) Verdict {
	out := OK
	for _, v := range all {
		if slices.Index(severity, v) > slices.Index(severity, out) {
			out = v
		}
	}
	return out
}

// statusOf is the run status that a verdict stands for.
func statusOf(v Verdict) checkers.Status {
	switch v {
	case OK:
		return checkers.Pass
	case NotAsClaimed:
		return checkers.Failed
	case Broken:
		return checkers.Errored
	default:
		return checkers.Inconclusive
	}
}

// compare puts what was expected beside what came out.
func compare(wishes []wish, j checkers.Judgement, facts map[string]string) []Found {
	var out []Found
	for _, w := range wishes {
		f := Found{What: w.what, Want: w.want}
		switch {
		case slices.Contains(checkers.Properties, checkers.Property(w.what)):
			f.Got = string(j.Findings[checkers.Property(w.what)].Verdict)
			// What was risked is what the proof says, so few exposures do not matter here;
			// and what cannot apply cannot be broken.
			f.OK = f.Got == f.Want || f.Want == string(checkers.Holds) && (f.Got == string(checkers.Vacuous) || f.Got == string(checkers.NotApplicable))
			if f.OK && f.Got == string(checkers.Vacuous) {
				f.Got = string(checkers.Holds)
			}
		case w.want == "":
			_, f.OK = facts[w.what]
			if !f.OK {
				f.Got = "not seen"
			}
		default:
			f.Got, f.OK = facts[w.what], facts[w.what] == w.want
		}
		out = append(out, f)
	}
	if _, seen := facts[noHandover]; seen && !slices.ContainsFunc(wishes, func(w wish) bool { return w.what == noHandover }) {
		out = append(out, Found{What: noHandover, Want: "not seen", Got: "seen"})
	}
	return out
}

// weigh is what a case comes to. stopped is why its script did not come to its
// end; broke what broke.
func weigh(r *CaseRow, stopped string, broke error) {
	if broke != nil {
		r.Verdict, r.Reasons = Broken, append(r.Reasons, broke.Error())
		return
	}
	differs, open := false, false
	for _, f := range r.Found {
		switch {
		case f.OK:
		case f.Got == string(checkers.Undecided) && f.Want != string(checkers.Undecided):
			open = true
			r.Reasons = append(r.Reasons, f.What+" is undecided")
		case f.Got == "":
			open = true
			r.Reasons = append(r.Reasons, f.What+" was not seen")
		default:
			differs = true
			r.Reasons = append(r.Reasons, fmt.Sprintf("%s is %s, not %s", f.What, f.Got, f.Want))
		}
	}
	for _, p := range r.Proofs {
		if !p.OK {
			open = true
			r.Reasons = append(r.Reasons, "not shown: "+p.What+" ("+p.How+")")
		}
	}
	if stopped != "" {
		open = true
		r.Reasons = append(r.Reasons, stopped)
	}
	silent := slices.ContainsFunc(r.Proofs, func(p Proof) bool { return p.What == answered && !p.OK })
	lasted := !silent && slices.ContainsFunc(r.Found, func(f Found) bool { return f.What == noHandover && !f.OK })
	switch {
	case lasted: // seen at the servers, whatever else did not come about because of it
		r.Verdict = NotAsClaimed
	case open:
		r.Verdict = Inconclusive
	case differs:
		r.Verdict = NotAsClaimed
	default:
		r.Verdict = OK
	}
}

// evidence is the deciding operations: those of the first violations, or else
// all acquires, claims and writes.
func evidence(h *history.History, j checkers.Judgement) []Evidence {
	named := map[string]bool{}
	for _, p := range all4 {
		if f := j.Findings[p]; f.Verdict == checkers.Violated && len(f.Examples) > 0 {
			for _, id := range f.Examples[0].Ops {
				named[id] = true
			}
		}
	}
	var out []Evidence
	var begin int64
	const most = 12
	for _, op := range h.Operations { // by call
		if op.Process == history.Observer || strings.HasPrefix(op.Process, history.Observer+"/") {
			continue
		}
		if begin == 0 {
			begin = op.Call
		}
		deciding := len(named) == 0 && (op.Kind == history.Acquire && op.Outcome != history.Fail || op.Kind == history.Claim || op.Kind == history.Write)
		if (deciding || named[op.ID]) && len(out) < most {
			out = append(out, Evidence{At: seconds(op.Call - begin), Who: op.Client, What: describe(op)})
		}
	}
	return out
}

func describe(op history.Operation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", op.Kind)
	switch {
	case op.Kind == history.Write:
		fmt.Fprintf(&b, " %s, computed from %s", op.WriteID, op.Basis)
	case op.WriteID != "":
		fmt.Fprintf(&b, " saw %s", op.WriteID)
	}
	if op.Token != 0 {
		fmt.Fprintf(&b, ", token %d", op.Token)
	}
	fmt.Fprintf(&b, ": %s", op.Outcome)
	return b.String()
}
