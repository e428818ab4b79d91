package report

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
)

// judge makes a cell's result as a run does: from the saved files, by the real
// checkers. A film is short, so little exposure must do.
func judge(t *testing.T, dir, where string, f *film, contract checkers.Contract) result.Cell {
	t.Helper()
	h, err := history.ReadFile(filepath.Join(dir, where, "history.jsonl"))
	must(t, err)
	journal, err := history.ReadJournal(filepath.Join(dir, where, "journal.jsonl"))
	must(t, err)
	j, err := checkers.Judge(context.Background(), h, journal, checkers.Config{Contract: contract, MinExposures: 1})
	must(t, err)
	c := result.Cell{
		Strategy: f.header.Strategy, Fault: f.header.Fault, Status: j.Status, Reasons: j.Reasons, Dir: filepath.ToSlash(where),
		Seed: f.header.Seed, Seconds: 4.1, Operations: j.Operations, Updates: j.Updates, Refused: j.Refused, Unknown: j.Unknown,
		Pauses: j.Pauses, PausesLanded: j.PausesLanded, BusyPercent: 46, Throughput: j.Throughput,
		WaitP50MS: float64(j.WaitP50) / 1e6, WaitP99MS: float64(j.WaitP99) / 1e6, Properties: j.Findings,
	}
	if j.FirstAnomaly >= 0 {
		ms := float64(j.FirstAnomaly) / 1e6
		c.FirstAnomaly = &ms
	}
	return c
}
