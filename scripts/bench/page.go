package main

import (
	"fmt"
	"runtime"
	"strings"
)

// row is a case with what was measured.
type row struct {
	benchCase
	ours, theirs measured
}

const head = `# What judging costs

Written by ` + "`make bench`" + `; do not edit. Each row is one made history (package checkers/histories), judged in a process of its own:
left by ` + "`torture`" + `, all properties of it, from what clients recorded alone; right by plain Porcupine v1.3.1 with the model of
stale-overwrite (of the register in the row without a lock), all operations as they were recorded, a minute and 8 GB.

Operations of one resource are its reads and writes, which is all that Porcupine is given; as many acquires, attempts and
releases are recorded besides (with unknown outcomes: half as many). Those of 1,000 resources are all that is recorded.

Times are of processors, so that what else the machine does matters little; of the judging alone, without making the
history. "Ratio" is the time relative to plain Porcupine's for %s in the same run, %.3f s. Memory is the peak of the whole
process, the history included.

| history | torture | time | ratio | memory | plain Porcupine | time | memory |
|---|---|---|---|---|---|---|---|
`

// page is docs/benchmarks.md.
func page(rows []row) string {
	unit := 0.0
	for _, r := range rows {
		if r.name == reference {
			unit = r.theirs.CPU
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, head, "“"+reference+"”", unit)
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %.1f | %s |", r.name, r.ours.Verdict, seconds(r.ours.CPU), r.ours.CPU/unit, megabytes(r.ours.Peak))
		switch {
		case r.alone:
			b.WriteString(" not asked | | |\n")
		case r.theirs.CPU == 0: // it was stopped
			fmt.Fprintf(&b, " %s | | more than %s |\n", r.theirs.Verdict, megabytes(r.theirs.Peak))
		default:
			fmt.Fprintf(&b, " %s | %s | %s |\n", r.theirs.Verdict, seconds(r.theirs.CPU), megabytes(r.theirs.Peak))
		}
	}
	b.WriteString(growth(rows))
	fmt.Fprintf(&b, "\nMeasured with %s, %d cores.\n", runtime.Version(), runtime.NumCPU())
	return b.String()
}

// growth shows how time grows with the length of one resource's history.
func growth(rows []row) string {
	var b strings.Builder
	for _, kind := range []string{"green", "one stale write"} {
		fmt.Fprintf(&b, "\nGrowth with the length, %s: ", kind)
		var parts []string
		for _, n := range []struct {
			text  string
			scale float64
		}{{"10,000", 1e4}, {"100,000", 1e5}, {"1,000,000", 1e6}} {
			for _, r := range rows {
				if r.name == n.text+" operations, "+kind {
					parts = append(parts, fmt.Sprintf("%s operations %.2f µs each", n.text, r.ours.CPU/n.scale*1e6))
				}
			}
		}
		b.WriteString(strings.Join(parts, ", ") + ".\n")
	}
	return b.String()
}

func seconds(s float64) string { return fmt.Sprintf("%.3f s", s) }

func megabytes(n int64) string { return fmt.Sprintf("%d MB", n>>20) }
