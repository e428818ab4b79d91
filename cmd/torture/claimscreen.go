package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/torture-harness/torture/harness/claims"
)

// claimScreen tells people what becomes of claims, one paragraph each.
type claimScreen struct {
	out    io.Writer
	colour bool
}

func newClaimScreen(out *os.File) *claimScreen {
	s := newScreen(out)
	return &claimScreen{out: out, colour: s.colour}
}

// Say implements claims.Progress.
func (s *claimScreen) Say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// Row implements claims.Progress.
func (s *claimScreen) Row(done, of int, row claims.Row) {
	fmt.Fprintf(s.out, "[%d/%d] %-4s %s  %s\n", done, of, row.ID, s.mark(row.Verdict), row.Says)
	if row.Broken != "" {
		fmt.Fprintf(s.out, "        changed: %s\n", row.Broken)
	}
	for _, c := range row.Cases {
		name := ""
		if c.Name != "" {
			name = "(" + c.Name + ") "
		}
		fmt.Fprintf(s.out, "        %s%s, %s: %s\n", name, c.Strategy, c.About, c.Verdict)
		for _, reason := range c.Reasons {
			fmt.Fprintf(s.out, "            %s\n", reason)
		}
	}
}

func (s *claimScreen) mark(v claims.Verdict) string {
	if !s.colour {
		return string(v)
	}
	colour := map[claims.Verdict]string{claims.OK: "32", claims.NotAsClaimed: "31", claims.Broken: "31"}[v]
	if colour == "" {
		colour = "33"
	}
	return "\x1b[" + colour + "m" + string(v) + "\x1b[0m"
}

// summary is the last lines of a run.
func (s *claimScreen) summary(res claims.Result, dir string) {
	count := map[claims.Verdict]int{}
	for _, row := range res.Claims {
		count[row.Verdict]++
	}
	if res.SelfTest {
		fmt.Fprintf(s.out, "\n%d of %d changes were noticed in %.0f s: %s\n", count[claims.NotAsClaimed], len(res.Claims), res.Seconds, res.Status)
	} else {
		var parts []string
		for _, v := range []claims.Verdict{claims.OK, claims.NotAsClaimed, claims.Inconclusive, claims.Broken} {
			if count[v] > 0 || v == claims.OK {
				parts = append(parts, fmt.Sprintf("%d %s", count[v], v))
			}
		}
		fmt.Fprintf(s.out, "\n%s of %d claims in %.0f s: %s\n", strings.Join(parts, ", "), len(res.Claims), res.Seconds, res.Status)
	}
	fmt.Fprintf(s.out, "result: %s/result.json\n", dir)
}
