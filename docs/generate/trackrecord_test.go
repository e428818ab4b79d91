package main

import (
	"strings"
	"testing"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/result"
)

const page = `| report | command | last reproduced |
|---|---|---|
| [one](u) | ` + "`torture claims C9 C25`" + ` | |
| [two](u) | ` + "`torture claims X12`, `torture claims X12 --self-test`" + ` | old, 2020-01-01 |
| [three](u) | ` + "`torture compare --strategy a,b --ttl 2s`" + ` | |
`

func stampedLines(t *testing.T, shows func([]string) bool) (out [3]bool) {
	t.Helper()
	lines := strings.Split(stamped(page, "abc, 2026-01-02", shows), "\n")
	if len(lines) != 6 {
		t.Fatalf("%d lines", len(lines))
	}
	for i := range out {
		out[i] = strings.HasSuffix(lines[i+2], "| abc, 2026-01-02 |")
	}
	return out
}

func TestTrackRecordOfClaims(t *testing.T) {
	run := func(verdicts map[string]result.ClaimVerdict) func([]string) bool {
		var res result.Claims
		for id, v := range verdicts {
			res.Claims = append(res.Claims, result.Claim{ID: id, Verdict: v})
		}
		return shownByClaims(res)
	}
	for _, c := range []struct {
		name     string
		verdicts map[string]result.ClaimVerdict
		want     [3]bool
	}{
		{"all", map[string]result.ClaimVerdict{"C9": "ok", "C25": "ok", "X12": "ok"}, [3]bool{true, true, false}},
		{"one of two did not come out", map[string]result.ClaimVerdict{"C9": "ok", "C25": "inconclusive", "X12": "ok"}, [3]bool{false, true, false}},
		{"one of two was not there", map[string]result.ClaimVerdict{"C9": "ok"}, [3]bool{}},
	} {
		if got := stampedLines(t, run(c.verdicts)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestTrackRecordOfCompare(t *testing.T) {
	for _, c := range []struct {
		command string
		status  checkers.Status
		want    bool
	}{
		{"torture compare --seed 3 --strategy a,b --ttl 2s", checkers.Pass, true},
		{"torture compare --seed 3 --strategy a,b --ttl 2s", checkers.Inconclusive, false},
		{"torture compare --seed 3 --strategy a --ttl 2s", checkers.Pass, false},
		{"torture compare --seed 3 --strategy a,b", checkers.Pass, false},
	} {
		if got := stampedLines(t, shownByCompare(result.Result{Command: c.command, Status: c.status})); got != [3]bool{false, false, c.want} {
			t.Errorf("%s, %s: %v, want %v", c.command, c.status, got, c.want)
		}
	}
}
