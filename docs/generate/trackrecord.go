package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/result"
)

const trackRecord = "docs/track-record.md"

// etcd11457 is the command of the row that has figures.
const etcd11457 = "compare --strategy etcd-mutex,etcd-mutex+fenced --fault pause-server,pause-holder --duration 1m --ttl 2s --think 1s --workers 5"

// command is one command of a row of the track record.
var command = regexp.MustCompile("`torture ([^`]*)`")

// reproduced writes into each row of the track record when it last was: the
// version and the day of the run, if all that the row's first command names was
// in it and came out as it should.
func reproduced(stamp string, shows func(command []string) bool) error {
	data, err := os.ReadFile(trackRecord)
	if err != nil {
		return err
	}
	return os.WriteFile(trackRecord, []byte(stamped(string(data), stamp, shows)), 0o644)
}

func stamped(page, stamp string, shows func(command []string) bool) string {
	lines := strings.Split(page, "\n")
	for i, line := range lines {
		cells := strings.Split(line, " | ")
		first := command.FindStringSubmatch(line)
		if !strings.HasPrefix(line, "| [") || first == nil || len(cells) < 2 {
			continue
		}
		if shows(strings.Fields(first[1])) {
			cells[len(cells)-1] = stamp + " |"
			lines[i] = strings.Join(cells, " | ")
		}
	}
	return strings.Join(lines, "\n")
}

// stamp is a version and a day.
func stamp(version, started string) string {
	day, _, _ := strings.Cut(started, "T")
	return fmt.Sprintf("%s, %s", version, day)
}

// shownByClaims: a row is shown by a run in which each of its claims came out.
func shownByClaims(res result.Claims) func(command []string) bool {
	ok := map[string]bool{}
	for _, c := range res.Claims {
		ok[c.ID] = c.Verdict == result.AsClaimed
	}
	return func(command []string) bool {
		return len(command) > 1 && command[0] == "claims" && !slices.ContainsFunc(command[1:], func(id string) bool { return !ok[id] })
	}
}

// shownByCompare: a row is shown by a run of its very command that passed.
func shownByCompare(res result.Result) func(command []string) bool {
	ran := strings.Fields(res.Command)
	return func(command []string) bool {
		if res.Status != checkers.Pass {
			return false
		}
		for i := 0; i < len(command); i++ {
			at := slices.Index(ran, command[i])
			if at < 0 || strings.HasPrefix(command[i], "--") && (at+1 >= len(ran) || i+1 >= len(command) || ran[at+1] != command[i+1]) {
				return false
			}
		}
		return true
	}
}

// jepsensFigure puts a run of the first row's command beside Jepsen's figure.
func jepsensFigure(res result.Result) error {
	var b strings.Builder
	b.WriteString("| what | acknowledged updates | lost | share | of these stale overwrites |\n|---|---|---|---|---|\n")
	b.WriteString("| Jepsen, etcd 3.4.3, members stopped ([analysis](https://jepsen.io/analyses/etcd-3.4.3)) | | | about 18 % | |\n")
	for _, c := range res.Cells {
		lost := c.Properties[checkers.RMWAtomic].Count
		fmt.Fprintf(&b, "| %s, etcd %s, %s, %d pauses | %d | %d | %.1f %% | %d |\n", c.Strategy, res.Versions["etcd"], c.Fault, c.Pauses, c.Updates, lost,
			100*float64(lost)/float64(max(1, c.Updates)), c.Properties[checkers.StaleOverwrite].Count)
	}
	fmt.Fprintf(&b, "\n%s in %.0f s, seed %d (%s), %s", res.Status, res.Seconds, res.Seed, res.Provider, stamp(res.Versions["torture"], res.Started))
	return replace(trackRecord, "etcd-11457", b.String())
}
