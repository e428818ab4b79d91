package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
)

// JudgeCell judges the saved files of a cell: plan.json, history.jsonl and
// journal.jsonl. What it returns with an error has status error.
func JudgeCell(ctx context.Context, dir string) (result.Cell, error) {
	out := result.Cell{Status: checkers.Errored, Dir: dir, Properties: map[checkers.Property]checkers.Finding{}}
	plan, err := readPlan(filepath.Join(dir, planFile))
	if err != nil {
		return out, err
	}
	out.Strategy, out.Fault, out.Seed = plan.Strategy, plan.Fault, plan.Seed
	h, err := history.ReadFile(filepath.Join(dir, historyFile))
	if err != nil {
		return out, err
	}
	journal, err := history.ReadJournal(filepath.Join(dir, journalFile))
	if err != nil {
		return out, err
	}
	j, err := checkers.Judge(ctx, h, journal, checkers.Config{Contract: plan.Contract, MinExposures: plan.Exposures,
		Budget: time.Duration(plan.BudgetMS) * time.Millisecond})
	if err != nil {
		return out, err
	}
	out.Status, out.Reasons, out.Properties = j.Status, append(j.Reasons, j.Warnings...), j.Findings
	out.Operations, out.Updates, out.Refused, out.Unknown = j.Operations, j.Updates, j.Refused, j.Unknown
	out.Pauses, out.PausesLanded = j.Pauses, j.PausesLanded
	out.Throughput = round1(j.Throughput)
	out.WaitP50MS, out.WaitP99MS = milliseconds(j.WaitP50), milliseconds(j.WaitP99)
	if j.FirstAnomaly >= 0 {
		ms := milliseconds(j.FirstAnomaly)
		out.FirstAnomaly = &ms
	}
	for _, e := range h.Events {
		if e.Type == history.TypeLoad {
			out.BusyPercent = round1(e.Busy)
		}
	}
	if out.BusyPercent > maxBusy && out.Status == checkers.Pass {
		out.Status = checkers.Inconclusive
		out.Reasons = append(out.Reasons, fmt.Sprintf("the machine was %.0f %% busy, more than %d %%", out.BusyPercent, maxBusy))
	}
	return out, nil
}

// maxBusy is the load above which timings say more about the machine than
// about the lock.
const maxBusy = 85

func milliseconds(ns int64) float64 { return math.Round(float64(ns)/1e5) / 10 }

func readPlan(path string) (CellPlan, error) {
	var plan CellPlan
	data, err := os.ReadFile(path)
	if err != nil {
		return plan, err
	}
	if err := json.Unmarshal(data, &plan); err != nil {
		return plan, fmt.Errorf("%s: no plan: %w", path, err)
	}
	if plan.Schema != PlanSchema {
		return plan, fmt.Errorf("%s: schema %q; this version reads %q", path, plan.Schema, PlanSchema)
	}
	return plan, nil
}
