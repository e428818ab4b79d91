package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// lockers, guards and faults in words for somebody who has never seen them.
var (
	lockers = map[string]string{
		"redis-setnx": "Redis SET NX PX",
		"redlock":     "Redlock, five Redis servers",
		"etcd":        "etcd lease",
		"none":        "no lock",
	}
	guards = map[string]string{
		"plain":   "plain UPDATE",
		"fenced":  "UPDATE checks the fencing token",
		"claim":   "token claimed when reading, checked when writing",
		"version": "UPDATE checks the row’s version",
	}
	faults = map[string]string{
		"none":         "nothing is disturbed",
		"pause-holder": "the lock’s holder is stopped between its read and its write",
		"pause-random": "processes are stopped at random moments",
		"delay-write":  "the holder’s write hangs in the network; nobody is stopped",
		"pause-server": "the servers are stopped, one at a time",
		"kill-worker":  "processes are killed and replaced",
	}
)

// providers in words: how the servers ran.
var providers = map[string]string{"container": "in containers", "process": "as local processes"}

// provided says how the servers ran.
func provided(provider string) string {
	if words := providers[provider]; words != "" {
		return words
	}
	return "by " + provider
}

// pasted is a command as it works in the project's folder.
func pasted(command string) string {
	if strings.HasPrefix(command, "torture ") {
		return "./bin/" + command
	}
	return command
}

// describe says what a strategy consists of, or nothing if it does not know.
func describe(h history.Header) string {
	locker, guard := lockers[h.Locker], guards[h.Guard]
	if locker == "" || guard == "" {
		return strings.Trim(h.Locker+" · "+h.Guard, " ·")
	}
	return locker + " · " + guard
}

// count is n with its thousands set apart: 4,212.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// percent is a rate as a person would say it: two significant digits, and
// never 0 % or 100 % for what is not quite that. Its space does not break.
func percent(rate float64) string {
	p := rate * 100
	switch {
	case p == 0 || p == 100:
		return fmt.Sprintf("%.0f %%", p)
	case p < 0.01:
		return "under 0.01 %"
	case p < 1:
		return fmt.Sprintf("%.2g %%", p)
	case p < 10:
		return fmt.Sprintf("%.1f %%", p)
	case p > 99.5:
		return fmt.Sprintf("%.1f %%", min(p, 99.9))
	}
	return fmt.Sprintf("%.0f %%", p)
}

// plural is "1 pause", "2 pauses".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return count(n) + " " + word + "s"
}

// list is "a", "a and b", "a, b and c".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// clip shortens a text that came from outside to at most n letters.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// milliseconds is a duration in ms as a person would say it.
func milliseconds(ms float64) string {
	switch {
	case ms >= 10_000:
		return fmt.Sprintf("%.0f s", ms/1000)
	case ms >= 1000:
		return fmt.Sprintf("%.1f s", ms/1000)
	case ms >= 10:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f ms", ms)
}

// date is an RFC 3339 time as a person would write it; anything else stays.
func date(s string) string {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return s
	}
	return t.Format("2 January 2006, 15:04 MST")
}

// capital begins a text with a capital letter.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
