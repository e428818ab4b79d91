package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
)

// Check judges a saved run, or one cell of one, again from its histories. It
// needs no servers and changes no file. What the run itself recorded besides
// histories (provider, versions, what broke) is taken from its result.json, if
// there is one. A file that cannot be read is a Usage.
func Check(ctx context.Context, dir string) (result.Result, error) {
	res := result.Result{Schema: result.Schema, Name: "check", Versions: map[string]string{}}
	if _, err := os.Stat(filepath.Join(dir, historyFile)); err == nil {
		saved, _ := readCell(filepath.Join(dir, resultFile)) // a cell alone may come without one
		cell, err := judgeAgain(ctx, dir, saved)
		if err != nil {
			return res, Usage{err}
		}
		res.Cells, res.Seed = []result.Cell{cell}, cell.Seed
		res.Status = cell.Status
		res.ExitCode = checkers.ExitCode(res.Status)
		return res, nil
	}
	cells, err := filepath.Glob(filepath.Join(dir, "cells", "*"))
	if err != nil {
		return res, Usage{err}
	}
	if len(cells) == 0 {
		return res, Usage{fmt.Errorf("%s: neither a run (cells/) nor a cell (%s) is there; give a folder of results/", dir, historyFile)}
	}
	saved, err := readResult(filepath.Join(dir, resultFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return res, Usage{err}
	}
	broken := checkers.Errored
	if err == nil {
		name := res.Name
		res, res.Cells, res.Name = saved, nil, name
		if saved.Status != checkers.Errored {
			broken = checkers.Inconclusive
		}
	} else {
		res.Errors = []string{"the run has no result.json: it did not end"}
	}
	before := map[string]result.Cell{}
	for _, c := range saved.Cells {
		before[filepath.Base(c.Dir)] = c
	}
	if err := sameCells(dir, cells, before); err != nil && saved.Schema != "" {
		return res, Usage{err}
	}
	var statuses []checkers.Status
	var failures []error
	runs := map[string]bool{}
	for _, path := range inOrder(cells, saved) {
		cell, err := judgeAgain(ctx, path, before[filepath.Base(path)])
		if err != nil {
			failures = append(failures, err)
			continue
		}
		if want := cell.Strategy + "." + cell.Fault; filepath.Base(path) != want {
			failures = append(failures, fmt.Errorf("%s: holds the cell %s; it was moved or replaced", path, want))
		}
		if plan, err := readPlan(filepath.Join(path, planFile)); err == nil {
			runs[plan.Run] = true
		}
		cell.Dir = filepath.Join("cells", filepath.Base(path))
		res.Cells = append(res.Cells, cell)
		statuses = append(statuses, cell.Status)
	}
	if len(runs) > 1 {
		failures = append(failures, fmt.Errorf("%s: its cells come from %d different runs", dir, len(runs)))
	}
	if len(failures) > 0 {
		return res, Usage{errors.Join(failures...)}
	}
	// A run that broke or was interrupted does not get better by judging again.
	if len(res.Errors) > 0 {
		statuses = append(statuses, broken)
	}
	res.Status = checkers.Combine(statuses...)
	res.ExitCode = checkers.ExitCode(res.Status)
	return res, nil
}

// judgeAgain judges a cell. One that broke while it ran does not get better:
// whatever its files show, it stays an error, unless they show a broken promise.
func judgeAgain(ctx context.Context, dir string, saved result.Cell) (result.Cell, error) {
	cell, err := JudgeCell(ctx, dir)
	findCounterexamples(dir, &cell)
	if saved.Status != checkers.Errored {
		return cell, err
	}
	if err != nil {
		cell = saved
	}
	if cell.Status != checkers.Failed {
		cell.Status = checkers.Errored
	}
	cell.Reasons = saved.Reasons
	return cell, nil
}

// sameCells compares the cells that are there with those that the run had.
func sameCells(dir string, paths []string, saved map[string]result.Cell) error {
	var errs []error
	here := map[string]bool{}
	for _, path := range paths {
		name := filepath.Base(path)
		here[name] = true
		if _, known := saved[name]; !known {
			errs = append(errs, fmt.Errorf("%s: is not in %s; it does not belong to this run", path, resultFile))
		}
	}
	for name := range saved {
		if !here[name] {
			errs = append(errs, fmt.Errorf("%s: is missing, and %s lists it", filepath.Join(dir, "cells", name), resultFile))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// inOrder sorts the folders of cells as the run had them.
func inOrder(paths []string, saved result.Result) []string {
	rank := map[string]int{}
	for i, c := range saved.Cells {
		rank[filepath.Base(c.Dir)] = i + 1
	}
	slices.SortStableFunc(paths, func(a, b string) int { return rank[filepath.Base(a)] - rank[filepath.Base(b)] })
	return paths
}

func readCell(path string) (result.Cell, error) {
	var cell result.Cell
	data, err := history.ReadSaved(path)
	if err != nil {
		return cell, err
	}
	return cell, json.Unmarshal(data, &cell)
}

func readResult(path string) (result.Result, error) {
	var res result.Result
	data, err := history.ReadSaved(path)
	if err != nil {
		return res, err
	}
	if err := json.Unmarshal(data, &res); err != nil {
		return res, fmt.Errorf("%s: no result: %w", path, err)
	}
	if res.Schema != result.Schema {
		return res, fmt.Errorf("%s: schema %q; this version reads %q", path, res.Schema, result.Schema)
	}
	return res, nil
}
