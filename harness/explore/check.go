package explore

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness"
	"github.com/torture-harness/torture/harness/report"
	"github.com/torture-harness/torture/harness/result"
)

// Check judges a saved exploration again. It needs no servers and changes no
// file. A file that cannot be read is a Usage.
func Check(ctx context.Context, dir string) (result.Explore, error) {
	saved, err := report.ReadExplore(dir)
	if err != nil {
		return saved, harness.Usage{Err: err}
	}
	if err := whole(dir, saved); err != nil {
		return saved, harness.Usage{Err: err}
	}
	res := saved
	res.Strategies = nil
	runs := map[string]bool{}
	for _, before := range saved.Strategies {
		if !filepath.IsLocal(before.Dir) {
			return res, harness.Usage{Err: fmt.Errorf("%s: the folder of %s (%s) is not in that of the run", filepath.Join(dir, "result.json"), before.Strategy, before.Dir)}
		}
		folder := filepath.Join(dir, before.Dir)
		now, err := JudgeCell(ctx, folder)
		if err != nil {
			return res, harness.Usage{Err: err}
		}
		if now.Strategy != before.Strategy {
			return res, harness.Usage{Err: fmt.Errorf("%s: holds %s and not %s; it was moved or replaced", folder, now.Strategy, before.Strategy)}
		}
		var plan CellPlan
		if err := readJSON(filepath.Join(folder, "plan.json"), &plan); err == nil {
			runs[plan.Run] = true
		}
		now.Dir, now.Seconds = before.Dir, before.Seconds
		// A cell that broke while it ran does not get better by judging it again.
		if before.Status == checkers.Errored && now.Status != checkers.Failed {
			now.Status, now.Reasons = before.Status, before.Reasons
		}
		res.Strategies = append(res.Strategies, now)
	}
	if len(runs) > 1 {
		return res, harness.Usage{Err: fmt.Errorf("%s: its strategies come from %d different runs", dir, len(runs))}
	}
	switch {
	case len(saved.Errors) == 0:
		overall(&res)
	case saved.Status == checkers.Errored:
		overall(&res, checkers.Errored)
	default:
		overall(&res, checkers.Inconclusive)
	}
	return res, nil
}

// whole refuses a result that leaves out strategies of its plan, unless the run
// did not come to its end and says so.
func whole(dir string, saved result.Explore) error {
	plan, err := ReadPlan(dir, "")
	if err != nil {
		return err
	}
	for _, c := range plan.Strategies {
		if len(saved.Errors) == 0 && !slices.ContainsFunc(saved.Strategies, func(e result.Explored) bool { return e.Strategy == c.Strategy }) {
			return fmt.Errorf("%s: %s is in plan.json and not in it", filepath.Join(dir, "result.json"), c.Strategy)
		}
	}
	return nil
}
