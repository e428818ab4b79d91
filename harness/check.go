package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/result"
)

// Check judges a saved run, or one cell of one, again from its histories. It
// needs no servers and changes no file. What the run itself recorded besides
// histories (provider, versions, what broke) is taken from its result.json, if
// there is one. A file that cannot be read is a Usage.
func Check(ctx context.Context, dir string) (result.Result, error) {
	res := result.Result{Schema: result.Schema, Name: "check", Versions: map[string]string{}}
	if _, err := os.Stat(filepath.Join(dir, historyFile)); err == nil {
		cell, err := JudgeCell(ctx, dir)
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
	var statuses []checkers.Status
	var failures []error
	for _, path := range inOrder(cells, saved) {
		cell, err := JudgeCell(ctx, path)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		cell.Dir = filepath.Join("cells", filepath.Base(path))
		res.Cells = append(res.Cells, cell)
		statuses = append(statuses, cell.Status)
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

// inOrder sorts the folders of cells as the run had them.
func inOrder(paths []string, saved result.Result) []string {
	rank := map[string]int{}
	for i, c := range saved.Cells {
		rank[filepath.Base(c.Dir)] = i + 1
	}
	slices.SortStableFunc(paths, func(a, b string) int { return rank[filepath.Base(a)] - rank[filepath.Base(b)] })
	return paths
}

func readResult(path string) (result.Result, error) {
	var res result.Result
	data, err := os.ReadFile(path)
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
