package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
	"github.com/torture-harness/torture/workloads"
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
	if err := plan.fits(h.Header); err != nil {
		return out, fmt.Errorf("%s:1: %w", filepath.Join(dir, historyFile), err)
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
	out.Status, out.Reasons, out.Warnings, out.Properties = j.Status, j.Reasons, j.Warnings, j.Findings
	out.Operations, out.Updates, out.Refused, out.Unknown = j.Operations, j.Updates, j.Refused, j.Unknown
	out.Pauses, out.PausesLanded = j.Pauses, j.PausesLanded
	out.Throughput = round1(j.Throughput)
	out.WaitP50MS, out.WaitP99MS = milliseconds(j.WaitP50), milliseconds(j.WaitP99)
	if j.FirstAnomaly >= 0 {
		ms := milliseconds(j.FirstAnomaly)
		out.FirstAnomaly = &ms
	}
	load := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Type == history.TypeLoad })
	if load >= 0 {
		out.BusyPercent = round1(h.Events[load].Busy)
	}
	if out.Status != checkers.Pass {
		return out, nil
	}
	switch {
	case load < 0:
		out.Status = checkers.Inconclusive
		out.Reasons = append(out.Reasons, "how busy the machine was is not recorded")
	case out.BusyPercent > maxBusy && out.Fault == workloads.FaultNone:
		// No fault had a moment to hit, and nothing was violated.
		out.Warnings = append(out.Warnings, fmt.Sprintf("the machine was %.0f %% busy; what was promised held all the same", out.BusyPercent))
	case out.BusyPercent > maxBusy:
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
	data, err := history.ReadSaved(path)
	if err != nil {
		return plan, err
	}
	if err := json.Unmarshal(data, &plan); err != nil {
		return plan, fmt.Errorf("%s: no plan: %w", path, err)
	}
	if plan.Schema != PlanSchema {
		return plan, fmt.Errorf("%s: schema %q; this version reads %q", path, plan.Schema, PlanSchema)
	}
	if plan.Exposures < 1 || plan.BudgetMS < 1 || plan.TTL <= 0 {
		return plan, fmt.Errorf("%s: min_exposures, budget_ms and ttl_ns must be positive", path)
	}
	if err := plan.Contract.Validate(); err != nil {
		return plan, fmt.Errorf("%s: %w", path, err)
	}
	return plan, nil
}

// fits refuses a history that was not recorded under this plan: judged by
// another's contract it would prove nothing.
func (p CellPlan) fits(h history.Header) error {
	for _, field := range []struct {
		name       string
		plan, here any
	}{
		{"strategy", p.Strategy, h.Strategy}, {"fault", p.Fault, h.Fault}, {"run", p.Run, h.Run}, {"seed", p.Seed, h.Seed},
		{"ttl", int64(p.TTL), h.TTL}, {"locker", p.Locker, h.Locker}, {"guard", p.Guard, h.Guard},
		{"resources", strings.Join(p.Resources, ","), strings.Join(h.Resources, ",")},
	} {
		if field.plan != field.here {
			return fmt.Errorf("%s is %v, and %v in %s beside it: they are not of one cell", field.name, field.here, field.plan, planFile)
		}
	}
	return nil
}
