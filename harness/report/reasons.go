package report

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/result"
)

// The reasons that are put into other words. Any other is told as it is.
var (
	loadReason    = regexp.MustCompile(`^the machine was ([\d.]+) % busy, more than (\d+) %$`)
	openReason    = regexp.MustCompile(`(?s)^(\S+) (is)( (?:promised|predicted) and )(is)( \S+: .*)$`)
	blindReason   = regexp.MustCompile(`(?s)^a violation of (\S+) (is)( predicted and )(was)( not found in .*)$`)
	overlapReason = "grants overlap"
)

// loaded says whether a cell is inconclusive because the machine was busy and
// for no other reason: what it found out about the properties stands.
func loaded(c result.Cell) bool {
	return c.Status == checkers.Inconclusive && slices.ContainsFunc(c.Reasons, loadReason.MatchString)
}

// reasons are a cell's without the load of the machine: one that is the same
// for several properties is there once.
func reasons(c result.Cell) []string {
	var out []string
	told := map[string][]string{} // what is left of a reason without its property, to the properties
	same := func(s string) (name, rest string) {
		for _, pattern := range []*regexp.Regexp{openReason, blindReason} {
			if m := pattern.FindStringSubmatch(s); m != nil {
				return m[1], m[3] + m[4] + m[5]
			}
		}
		return "", s
	}
	for _, s := range c.Reasons {
		if name, rest := same(s); name != "" {
			told[rest] = append(told[rest], name)
		}
	}
	for _, s := range c.Reasons {
		if loadReason.MatchString(s) {
			continue
		}
		name, rest := same(s)
		if all := told[rest]; len(all) > 1 {
			if name != all[0] {
				continue
			}
			if m := openReason.FindStringSubmatch(s); m != nil {
				s = list(all) + " are" + m[3] + "are" + m[5]
			} else if m := blindReason.FindStringSubmatch(s); m != nil {
				s = "violations of " + list(all) + " are" + m[3] + "were" + m[5]
			}
		}
		out = append(out, explained(s))
	}
	return out
}

// explained adds to a reason that sounds worse than it is what it means.
func explained(reason string) string {
	if !strings.Contains(reason, overlapReason) {
		return reason
	}
	return reason + " (not that the lock was held twice: requests for it overlapped in time, so that old and new holder cannot be told apart, usually because of load)"
}

// loadLine says once for all cells that the machine was too busy, or nothing.
func (r *run) loadLine() string {
	limit := 0.0
	for _, c := range r.Cells {
		for _, s := range c.Reasons {
			if m := loadReason.FindStringSubmatch(s); m != nil {
				limit, _ = strconv.ParseFloat(m[2], 64)
			}
		}
	}
	if limit == 0 {
		return ""
	}
	var busy []*cell
	low, high := 100.0, 0.0
	for _, c := range r.Cells {
		if percent := c.BusyPercent; percent > limit {
			busy = append(busy, c)
			low, high = min(low, percent), max(high, percent)
		}
	}
	if len(busy) == 0 {
		return ""
	}
	where := fmt.Sprintf("%d of %s", len(busy), plural(len(r.Cells), "cell"))
	if len(busy) == 1 {
		where = busy[0].Strategy + " under " + busy[0].Fault
	}
	span := fmt.Sprintf("%.0f", low)
	if to := fmt.Sprintf("%.0f", high); to != span {
		span += "–" + to
	}
	return fmt.Sprintf("%s: the machine was %s %% busy (limit %.0f %%): timings say more about the machine than about the lock; run again with nothing beside it",
		where, span, limit)
}
