package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/result"
)

// claimsJUnit writes one case per claim. One that is inconclusive is an error
// and not skipped: nothing undecided is ever green. In a self-test a row that
// has not turned is a failure.
func claimsJUnit(w io.Writer, res result.Claims) error {
	suite := junitSuite{Name: "torture " + res.Name, Tests: len(res.Claims), Time: fmt.Sprintf("%.3f", res.Seconds), Stamp: res.Started,
		Values: []junitPair{{"seed", fmt.Sprint(res.Seed)}, {"provider", res.Provider}, {"command", res.Command}}}
	for _, c := range res.Claims {
		one := junitCase{Class: "torture.claims", Name: strings.TrimSpace(c.ID + " " + c.Broken), Time: fmt.Sprintf("%.3f", c.Seconds)}
		var why []string
		for _, k := range c.Cases {
			for _, r := range k.Reasons {
				why = append(why, strings.TrimSpace(k.Name+" "+r))
			}
		}
		text := &junitText{Type: string(c.Verdict), Message: clip(strings.Join(why, "; "), 1000), Text: c.Says}
		status := checkers.Errored
		switch {
		case claimTone(c.Verdict, res.SelfTest) == "good":
			status = checkers.Pass
		case c.Verdict == result.NotAsClaimed, c.Verdict == result.AsClaimed:
			status = checkers.Failed
		}
		suite.add(one, text, status)
	}
	return writeJUnit(w, suite)
}
