package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/proc"
	"github.com/torture-harness/torture/harness/result"
)

// compare runs one short real comparison with local processes and returns its folder.
func compare(t *testing.T, args ...string) (outcome, string) {
	t.Helper()
	dir := t.TempDir()
	o := invocation{args: append([]string{"compare", "--provider", "process", "--results", dir}, args...), dir: dir}.run(t)
	latest, err := filepath.EvalSymlinks(filepath.Join(dir, "latest"))
	if err != nil {
		t.Fatalf("no results: %v\n%s%s", err, o.out, o.errors)
	}
	return o, latest
}

func load(t *testing.T, dir string) result.Result {
	t.Helper()
	var res result.Result
	data, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &res); err != nil {
		t.Fatal(err)
	}
	return res
}

// The machine that runs tests may be busy with other tests, which makes a cell
// inconclusive and nothing else.
func onlyBusy(res result.Result) bool {
	for _, c := range res.Cells {
		for _, r := range c.Reasons {
			if c.Status == checkers.Inconclusive && !strings.Contains(r, "% busy") {
				return false
			}
		}
		if c.Status == checkers.Failed || c.Status == checkers.Errored {
			return false
		}
	}
	return len(res.Errors) == 0
}

func TestAStaleWriteIsShownAndRefused(t *testing.T) {
	o, dir := compare(t, "--strategy", "setnx,etcd-fenced,etcd-claim,version-cas", "--fault", "pause-holder", "--seed", "1", "--duration", "2s", "--exposures", "4")
	res := load(t, dir)
	if !onlyBusy(res) {
		t.Fatalf("exit code %d\n%s%s", o.code, o.out, o.errors)
	}
	if o.code != checkers.ExitCode(res.Status) || res.ExitCode != o.code {
		t.Errorf("exit code %d, result.json says %s and %d", o.code, res.Status, res.ExitCode)
	}
	cells := map[string]result.Cell{}
	for _, c := range res.Cells {
		cells[c.Strategy] = c
		if c.Pauses == 0 || c.PausesLanded*100 < c.Pauses*95 {
			t.Errorf("%s: %d of %d aimed pauses landed", c.Strategy, c.PausesLanded, c.Pauses)
		}
	}
	stale := cells["setnx"].Properties[checkers.StaleOverwrite]
	if stale.Verdict != checkers.Violated || stale.Count != stale.Exposures || stale.Count == 0 {
		t.Errorf("setnx: %d stale writes in %d exposures, want all of them", stale.Count, stale.Exposures)
	}
	for name, want := range map[string]map[checkers.Property]checkers.Verdict{
		"setnx":       {checkers.LeaseExclusion: checkers.Holds, checkers.Register: checkers.Holds},
		"etcd-fenced": {checkers.LeaseExclusion: checkers.Holds, checkers.StaleOverwrite: checkers.Holds, checkers.FenceOrder: checkers.Holds, checkers.RMWAtomic: checkers.Violated, checkers.TokenOrder: checkers.Holds},
		"etcd-claim":  {checkers.LeaseExclusion: checkers.Holds, checkers.StaleOverwrite: checkers.Holds, checkers.FenceOrder: checkers.Holds, checkers.RMWAtomic: checkers.Holds},
		"version-cas": {checkers.StaleOverwrite: checkers.Holds, checkers.RMWAtomic: checkers.Holds, checkers.LeaseExclusion: checkers.NotApplicable},
	} {
		for p, verdict := range want {
			if got := cells[name].Properties[p]; got.Verdict != verdict {
				t.Errorf("%s: %s is %s (%s), want %s", name, p, got.Verdict, got.Reason, verdict)
			}
		}
	}
	for _, file := range []string{"plan.json", "result.json", "report.html", "summary.md", "junit.xml", "cells/setnx.pause-holder/history.jsonl", "cells/setnx.pause-holder/journal.jsonl", "cells/setnx.pause-holder/plan.json", "cells/setnx.pause-holder/result.json"} {
		if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
	if drawn, _ := filepath.Glob(filepath.Join(dir, "cells/setnx.pause-holder/porcupine/*.html")); len(drawn) == 0 {
		t.Error("no picture of Porcupine's for an anomaly")
	}

	// Judged again, from the files alone, it comes to the same.
	again := invocation{args: []string{"check", dir}}.run(t)
	if again.code != o.code {
		t.Errorf("check: exit code %d, compare's was %d\n%s%s", again.code, o.code, again.out, again.errors)
	}
}

// A write that hangs in the network is as dangerous as a holder that hangs, also
// behind a check, and what helps against the one helps against the other.
func TestADelayedWriteIsShownAndRefused(t *testing.T) {
	o, dir := compare(t, "--strategy", "setnx-check,etcd-fenced,etcd-claim,version-cas", "--fault", "delay-write", "--seed", "1", "--duration", "2s", "--exposures", "4")
	res := load(t, dir)
	if !onlyBusy(res) {
		t.Fatalf("exit code %d\n%s%s", o.code, o.out, o.errors)
	}
	for _, c := range res.Cells {
		if c.Pauses == 0 || c.PausesLanded*100 < c.Pauses*95 {
			t.Errorf("%s: %d of %d delays landed", c.Strategy, c.PausesLanded, c.Pauses)
		}
		stale := c.Properties[checkers.StaleOverwrite]
		if c.Strategy != "setnx-check" {
			if stale.Verdict != checkers.Holds || c.Strategy != "version-cas" && stale.Exposures == 0 {
				t.Errorf("%s: stale-overwrite is %s in %d exposures (%s)", c.Strategy, stale.Verdict, stale.Exposures, stale.Reason)
			}
			continue
		}
		if stale.Verdict != checkers.Violated || stale.Count != stale.Exposures || stale.Count == 0 {
			t.Errorf("%s: %d stale writes in %d exposures, want all of them", c.Strategy, stale.Count, stale.Exposures)
		}
		if f := c.Properties[checkers.LeaseExclusion]; f.Verdict != checkers.Holds {
			t.Errorf("%s: lease-exclusion is %s (%s)", c.Strategy, f.Verdict, f.Reason)
		}
	}
	h, err := history.ReadFile(filepath.Join(dir, "cells/setnx-check.delay-write/history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	delayed := 0
	for _, p := range h.Pauses() {
		for i := range h.Operations {
			if op := &h.Operations[i]; p.Delays(op) {
				delayed++
				if op.Kind != history.Write {
					t.Errorf("%s %s was delayed, not a write", op.Kind, op.ID)
				}
			}
		}
		if len(p.Bytes) == 0 || p.Threads > 0 || p.To == history.Never {
			t.Errorf("the delay %+v is not proven", p)
		}
	}
	if delayed == 0 {
		t.Error("no write was delayed")
	}
	for _, e := range h.Events {
		if e.Type == history.TypeStall && e.Worker != "" && e.Gap > int64(time.Second) {
			t.Errorf("%s did not run for %s, and nobody was to be stopped", e.Worker, time.Duration(e.Gap))
		}
	}
}

// Stopped servers lose nothing and grant nothing twice.
func TestServersAreStopped(t *testing.T) {
	o, dir := compare(t, "--strategy", "redlock,etcd-fenced,version-cas", "--fault", "pause-server", "--seed", "1", "--duration", "2s", "--exposures", "4")
	res := load(t, dir)
	if !onlyBusy(res) {
		t.Fatalf("exit code %d\n%s%s", o.code, o.out, o.errors)
	}
	for _, c := range res.Cells {
		h, err := history.ReadFile(filepath.Join(dir, "cells", c.Strategy+".pause-server", "history.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		hit := map[string]int{}
		for _, f := range h.Faults {
			kind, _, _ := strings.Cut(f.Victim, "-")
			switch f.Phase {
			case history.Stopped:
				hit[kind]++
			case history.Healed:
				hit[kind+" healed"]++
			}
		}
		for _, kind := range map[string][]string{"redlock": {"redis", "postgres"}, "etcd-fenced": {"etcd", "postgres"}, "version-cas": {"postgres"}}[c.Strategy] {
			if hit[kind] < 2 || hit[kind+" healed"] != hit[kind] {
				t.Errorf("%s: %v", c.Strategy, hit)
			}
		}
		for _, p := range []checkers.Property{checkers.Register, checkers.Durability, checkers.Progress, checkers.LeaseExclusion} {
			if f := c.Properties[p]; f.Verdict != checkers.Holds && f.Verdict != checkers.NotApplicable {
				t.Errorf("%s: %s is %s (%s)", c.Strategy, p, f.Verdict, f.Reason)
			}
		}
	}
}

// executed lists the faults of a cell as they were carried out.
func executed(t *testing.T, dir string) []string {
	t.Helper()
	h, err := history.ReadFile(filepath.Join(dir, "history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var faults []string
	for _, f := range h.Faults {
		if f.Phase == history.Armed {
			faults = append(faults, fmt.Sprintf("%s %s victim=%s point=%s planned=%d written=%v held=%v", f.Kind, f.ID, f.Victim, f.Point, f.Planned, f.Written, f.Held))
		}
	}
	slices.Sort(faults) // streams of different workers are independent
	return faults
}

func TestTheSeedDecidesTheFaults(t *testing.T) {
	args := []string{"--strategy", "setnx", "--fault", "pause-holder,pause-random,delay-write,pause-server,kill-worker", "--duration", "1s", "--exposures", "1"}
	_, first := compare(t, append(args, "--seed", "11")...)
	_, second := compare(t, append(args, "--seed", "11")...)
	_, other := compare(t, append(args, "--seed", "12")...)
	for _, fault := range []string{"pause-holder", "pause-random", "delay-write", "pause-server", "kill-worker"} {
		cell := "cells/setnx." + fault
		a, b, c := executed(t, filepath.Join(first, cell)), executed(t, filepath.Join(second, cell)), executed(t, filepath.Join(other, cell))
		// How many there were depends on the machine; which, does not.
		common := 0
		for _, f := range a {
			if slices.Contains(b, f) {
				common++
			}
		}
		if n := min(len(a), len(b)); n == 0 || common < n {
			t.Errorf("%s: %d of %d faults are the same in two runs of one seed:\n%s\n\n%s", fault, common, n, strings.Join(a, "\n"), strings.Join(b, "\n"))
		}
		if slices.Equal(a[:1], c[:1]) && fault != "kill-worker" {
			t.Errorf("%s: another seed gives the same faults: %s", fault, a[0])
		}
	}
}

// processesBelow lists the processes that belong to folder base, by their
// working directory or their arguments.
func processesBelow(t *testing.T, base string) map[int]string {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]string{}
	for _, entry := range entries {
		pid, _ := strconv.Atoi(filepath.Base(entry))
		state, err := proc.StateOf(pid)
		if err != nil || state == 'Z' {
			continue
		}
		cwd, _ := os.Readlink(filepath.Join(entry, "cwd"))
		args, _ := os.ReadFile(filepath.Join(entry, "cmdline"))
		if line := string(state) + " " + cwd + " " + string(bytes.ReplaceAll(args, []byte{0}, []byte{' '})); strings.Contains(line, base) {
			found[pid] = line
		}
	}
	return found
}

func TestKilledAtAnyMomentNothingIsLeft(t *testing.T) {
	for _, test := range []struct {
		name  string
		ready func(line string, now map[int]string) bool
	}{
		{"servers are starting", func(line string, now map[int]string) bool {
			return strings.Contains(line, "servers run as") && len(now) > 3
		}},
		{"servers are ready", func(line string, now map[int]string) bool { return strings.Contains(line, "servers ready") }},
		{"a worker is stopped", func(_ string, now map[int]string) bool {
			for _, line := range now {
				if strings.HasPrefix(line, "T") && strings.Contains(line, "worker") {
					return true
				}
			}
			return false
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			base := openFolder(t)
			env := []string{"XDG_STATE_HOME=" + filepath.Join(base, "state"), "TMPDIR=" + base}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			cmd := invocation{dir: base, env: env, args: []string{"compare", "--provider", "process", "--strategy", "setnx",
				"--fault", "pause-holder", "--duration", "2s", "--results", filepath.Join(base, "results")}}.command(ctx, t)
			said := &output{}
			cmd.Stdout, cmd.Stderr = said, said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			await(t, test.name, func() bool { return test.ready(said.String(), processesBelow(t, base)) }, said)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			await(t, "the end of everything it started", func() bool { return len(processesBelow(t, base)) == 0 })
			if left, _ := filepath.Glob(filepath.Join(base, "torture-*")); len(left) > 0 {
				t.Errorf("folders are left: %v", left)
			}
			o := invocation{args: []string{"clean"}, env: env}.run(t)
			if o.code != 0 {
				t.Errorf("clean: exit code %d: %s%s", o.code, o.out, o.errors)
			}
		})
	}
}

func TestAnInterruptedRunSavesAndJudgesWhatThereIs(t *testing.T) {
	base := openFolder(t)
	env := []string{"XDG_STATE_HOME=" + filepath.Join(base, "state"), "TMPDIR=" + base}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	results := filepath.Join(base, "results")
	cmd := invocation{dir: base, env: env, args: []string{"compare", "--provider", "process", "--strategy", "setnx,version-cas",
		"--fault", "pause-holder", "--duration", "20s", "--results", results}}.command(ctx, t)
	said := &output{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "a stopped worker", func() bool {
		for _, line := range processesBelow(t, base) {
			if strings.HasPrefix(line, "T") && strings.Contains(line, "worker") {
				return true
			}
		}
		return false
	}, said)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != checkers.ExitCode(checkers.Inconclusive) {
		t.Errorf("exit code %d\n%s", code, said)
	}
	res := load(t, filepath.Join(results, "latest"))
	if len(res.Cells) != 1 || res.Cells[0].Operations == 0 || len(res.Errors) != 1 || !strings.Contains(res.Errors[0], "interrupted after 1 of 2 cells") {
		t.Errorf("%d cells, errors %q\n%s", len(res.Cells), res.Errors, said)
	}
	if left := processesBelow(t, base); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestAServerThatEndsIsNamed(t *testing.T) {
	base := openFolder(t)
	env := []string{"XDG_STATE_HOME=" + filepath.Join(base, "state"), "TMPDIR=" + base}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	results := filepath.Join(base, "results")
	cmd := invocation{dir: base, env: env, args: []string{"compare", "--provider", "process", "--strategy", "setnx,version-cas",
		"--fault", "none", "--duration", "20s", "--results", results}}.command(ctx, t)
	said := &output{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	redis := 0
	await(t, "workers and Redis", func() bool {
		workers := 0
		for pid, line := range processesBelow(t, base) {
			if strings.Contains(line, "redis-server") {
				redis = pid
			}
			if strings.Contains(line, " worker") {
				workers++
			}
		}
		return workers == 3 && redis != 0
	}, said)
	if err := syscall.Kill(redis, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != checkers.ExitCode(checkers.Errored) || !strings.Contains(said.String(), "redis-1 has ended") {
		t.Errorf("exit code %d\n%s", code, said)
	}
	res := load(t, filepath.Join(results, "latest"))
	if len(res.Cells) != 1 || res.Cells[0].Status != checkers.Errored {
		t.Errorf("%d cells; no further one may be tried\n%s", len(res.Cells), said)
	}
	if left := processesBelow(t, base); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	o := invocation{args: []string{"check", filepath.Join(results, "latest")}}.run(t)
	if o.code != exitError {
		t.Errorf("check: exit code %d\n%s%s", o.code, o.out, o.errors)
	}
}

// output keeps all that was written.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *output) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *output) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func await(t *testing.T, what string, cond func() bool, said ...fmt.Stringer) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !cond(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for: %s\n%v", what, said)
		}
	}
}

// openFolder is a folder that servers can enter, which do not run as root.
func openFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "torturetest")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
