package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An exploration from the command line: run, judged again, rendered again, and one
// schedule of it replayed.
func TestExplore(t *testing.T) {
	dir := t.TempDir()
	do := func(args ...string) outcome {
		t.Helper()
		out := invocation{args: args, dir: dir}.run(t)
		if out.code != 0 {
			t.Fatalf("torture %s: exit code %d\n%s%s", strings.Join(args, " "), out.code, out.out, out.errors)
		}
		return out
	}
	const sentence = "of all 7 schedules: lock layer violated in 0, stale-overwrite in 0, lost update in 0, refused in 6, clean in 1"
	out := do("explore", "--strategy", "version-cas", "--provider", "process", "--seed", "4")
	for _, want := range []string{"seed 4", sentence, "7 schedules in", "model and servers agree in all: pass", "report.html"} {
		if !strings.Contains(out.out, want) {
			t.Errorf("it does not say %q:\n%s", want, out.out)
		}
	}
	if out := do("check", "results/latest"); !strings.Contains(out.out, sentence) {
		t.Errorf("judged again:\n%s", out.out)
	}
	page := filepath.Join(dir, "results", "latest", "report.html")
	if err := os.Remove(page); err != nil {
		t.Fatal(err)
	}
	do("report", "results/latest")
	if _, err := os.Stat(page); err != nil {
		t.Errorf("rendered again: %v", err)
	}
	first, err := filepath.EvalSymlinks(filepath.Join(dir, "results", "latest"))
	if err != nil {
		t.Fatal(err)
	}
	out = do("replay", first, "--schedule", "version-cas/ABBA", "--provider", "process")
	if !strings.Contains(out.out, "of 1 of 7 schedules") || !strings.Contains(out.out, "refused in 1") {
		t.Errorf("replayed:\n%s", out.out)
	}
	again, err := filepath.EvalSymlinks(filepath.Join(dir, "results", "latest"))
	if err != nil || again == first || !strings.HasSuffix(again, "-replay") {
		t.Errorf("the replay is in %s, the first run in %s, %v", again, first, err)
	}
	invocation{args: []string{"replay", first, "--schedule", "ABBB"}, dir: dir}.run(t).oneLine(t, exitUsage, "ABBB", "plan.json")
}
