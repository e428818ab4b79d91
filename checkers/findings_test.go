package checkers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/torture-harness/torture/harness/history"
)

const findingsFile = "testdata/findings.txt"

// TestFindings compares all that is said of the histories made by hand, and of
// some random scenes, with what was said before: every exposure, every culprit,
// every sentence. Written anew with -update; then read what has changed.
func TestFindings(t *testing.T) {
	var b strings.Builder
	for _, s := range labelled() {
		fmt.Fprintf(&b, "# %s: %s\n", s.name, s.why)
		told(t, &b, s.history, nil)
		fmt.Fprintf(&b, "## with the journal\n")
		told(t, &b, s.history, accepted(s.history, s.journal...))
	}
	rng := rand.New(rand.NewPCG(20240607, 6)) // always the same
	for i := range 150 {
		h, journal := scene(rng)
		fmt.Fprintf(&b, "# scene %d: guard %s, fault %s, locker %s, ttl %d\n", i, h.Header.Guard, h.Header.Fault, h.Header.Locker, h.Header.TTL)
		told(t, &b, h, journal)
	}
	if *update {
		if err := os.WriteFile(findingsFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(findingsFile)
	if err != nil {
		t.Fatal(err)
	}
	was, is := strings.Split(string(before), "\n"), strings.Split(b.String(), "\n")
	section := ""
	for i := range max(len(was), len(is)) {
		if i < len(is) && strings.HasPrefix(is[i], "# ") {
			section = is[i]
		}
		if i >= len(was) || i >= len(is) || was[i] != is[i] {
			t.Fatalf("%s:%d, %s\nwas %s\nis  %s", findingsFile, i+1, section, line(was, i), line(is, i))
		}
	}
}

func line(all []string, i int) string {
	if i < len(all) {
		return all[i]
	}
	return "nothing"
}

// telling writes down what a checker found.
type telling struct {
	Checker
	to *strings.Builder
}

func (s telling) Check(c *cell) outcome {
	o := s.Checker.Check(c)
	fmt.Fprintf(s.to, "%s %s %q by %q, %d hidden, errors %q\n", s.Property(), o.verdict, o.reason, o.decidedBy, o.hidden, o.errors)
	for _, x := range o.exposures {
		fmt.Fprintf(s.to, "  risk %v\n", x)
	}
	for _, k := range o.culprits {
		fmt.Fprintf(s.to, "  wrong %v %s at %d of %s, %q: %s", k.exposure, k.example.Culprit, k.example.At, k.example.Resource, k.example.Ops, k.example.Text)
		for _, g := range k.grants {
			fmt.Fprintf(s.to, " %s", g.name())
		}
		fmt.Fprintln(s.to)
	}
	// What they are depends on how long could be searched for smaller ones.
	fmt.Fprintf(s.to, "  %d counterexamples\n", len(o.counterexamples))
	return o
}

func told(t *testing.T, b *strings.Builder, h *history.History, journal []history.JournalEntry) {
	t.Helper()
	var all []Checker
	for _, c := range allCheckers() {
		all = append(all, telling{c, b})
	}
	j, err := judge(context.Background(), h, journal, Config{MinExposures: 1}, all)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(b, "%s %q, landed %d of %d, waits %d %d, first anomaly %d, operations %d, updates %d, refused %d, unknown %d, throughput %.3g\n", j.Status, j.Reasons,
		j.PausesLanded, j.Pauses, j.WaitP50, j.WaitP99, j.FirstAnomaly, j.Operations, j.Updates, j.Refused, j.Unknown, j.Throughput)
	for _, p := range Properties {
		f := j.Findings[p]
		fmt.Fprintf(b, "  %s %s %q %d/%d pauses %d/%d\n", p, f.Verdict, f.Reason, f.Count, f.Exposures, f.PausesHit, f.Pauses)
	}
}
