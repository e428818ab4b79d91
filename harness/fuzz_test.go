package harness

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
)

// seed adds values as they are saved.
func seed(f *testing.F, values ...any) {
	f.Helper()
	for _, v := range values {
		text, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("")
	f.Add("null")
	f.Add(`{"schema":17}`)
}

// saved is a file with this text.
func saved(t *testing.T, dir, text string) string {
	t.Helper()
	path := filepath.Join(dir, "saved.json")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// expectRefusal: one line with the place.
func expectRefusal(t *testing.T, err error, path string) {
	t.Helper()
	if !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
		t.Fatalf("not one line with its place: %q", err)
	}
}

// FuzzReadPlan: a cell's plan is one that can be judged by, or is refused.
func FuzzReadPlan(f *testing.F) {
	plan := CellPlan{Schema: PlanSchema, Run: "r", Strategy: "setnx", Locker: "redis-setnx", Guard: "plain", Fault: "pause-holder", Seed: 7,
		TTL: time.Second, Duration: time.Second, Contract: checkers.Contract{checkers.StaleOverwrite: checkers.Predicted}, Exposures: 20, BudgetMS: 60000,
		Point: "P3", Workers: 3, Resources: []string{"r00"}}
	other := plan
	other.Schema = "torture/plan/9"
	seed(f, plan, other, Plan{})
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		path := saved(t, dir, text)
		plan, err := readPlan(path)
		if err != nil {
			expectRefusal(t, err, path)
			return
		}
		again, err := json.Marshal(plan)
		if err != nil {
			t.Fatal(err)
		}
		same, err := readPlan(saved(t, dir, string(again)))
		if err != nil || !reflect.DeepEqual(plan, same) {
			t.Fatalf("written and read again, it is another: %v\n%+v\n%+v", err, plan, same)
		}
		_ = plan.fits(history.Header{Resources: plan.Resources})
	})
}

// FuzzReadResult: a saved result is read or refused.
func FuzzReadResult(f *testing.F) {
	at := 1.5
	res := result.Result{Schema: result.Schema, Name: "compare", Status: checkers.Pass, TTL: "1s", Cells: []result.Cell{{
		Strategy: "setnx", Fault: "none", Dir: "cells/setnx.none", FirstAnomaly: &at,
		Properties: map[checkers.Property]checkers.Finding{checkers.Register: {Verdict: checkers.Holds, Examples: []checkers.Example{{Ops: []string{"w1-1"}}}}},
	}}}
	seed(f, res, result.Result{}, res.Cells[0])
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		path := saved(t, dir, text)
		_, _ = readCell(path) // its callers add the place
		res, err := readResult(path)
		if err != nil {
			expectRefusal(t, err, path)
			return
		}
		again, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		same, err := readResult(saved(t, dir, string(again)))
		if err != nil {
			t.Fatalf("written and read again: %v", err)
		}
		if twice, err := json.Marshal(same); err != nil || string(twice) != string(again) {
			t.Fatalf("written and read again, it is another: %v\n%s\n%s", err, again, twice)
		}
	})
}
