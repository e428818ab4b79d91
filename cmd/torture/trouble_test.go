package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/torture-harness/torture/checkers"
)

// cellFolder is the folder of realCell's run, removed after all tests.
var cellFolder string

var realCell = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "torture-test-cell-")
	if err != nil {
		return "", err
	}
	cellFolder = dir
	cmd := exec.Command(os.Args[0], "compare", "--provider", "process", "--strategy", "etcd-claim", "--fault", "none", "--duration", "1s", "--seed", "5", "--results", dir)
	cmd.Env = append(os.Environ(), beTorture+"=1")
	_ = cmd.Run() // its verdict does not matter here
	return filepath.Join(dir, "latest", "cells", "etcd-claim.none"), nil
})

// copyCell is a copy of a real cell, to be damaged.
func copyCell(t *testing.T) string {
	t.Helper()
	from, err := realCell()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"plan.json", "history.jsonl", "journal.jsonl"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// edit changes the lines of a file.
func edit(t *testing.T, path string, change func(lines []string) []string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := change(strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"))
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedFilesAreNamedWithTheirLine(t *testing.T) {
	at := func(n int, text string) func([]string) []string { // line n becomes text
		return func(lines []string) []string { lines[n-1] = text; return lines }
	}
	for _, test := range []struct {
		name   string
		file   string
		change func([]string) []string
		words  []string
	}{
		{"garbage in the middle", "history.jsonl", at(40, "\x00\x01 garbage"), []string{"history.jsonl:40:"}},
		{"a torn line in the middle", "history.jsonl", func(l []string) []string { l[29] = l[29][:len(l[29])/2]; return l }, []string{"history.jsonl:30:"}},
		{"no header", "history.jsonl", func(l []string) []string { return l[1:] }, []string{"history.jsonl:1:"}},
		{"another schema", "history.jsonl", func(l []string) []string {
			l[0] = strings.ReplaceAll(l[0], "torture/history/1", "torture/history/99")
			return l
		}, []string{"history.jsonl:1:", "torture/history/99"}},
		{"an invocation twice", "history.jsonl", func(l []string) []string {
			for i, line := range l {
				if strings.Contains(line, `"t":"invoke"`) {
					return append(l[:i+1:i+1], append([]string{line}, l[i+1:]...)...)
				}
			}
			return l
		}, []string{"history.jsonl:"}},
		{"a completion of nothing", "history.jsonl", func(l []string) []string {
			return append(l, `{"t":"complete","time":999999999999999,"op":"w9-1","outcome":"ok"}`)
		}, []string{"history.jsonl:", "w9-1"}},
		{"an unknown outcome", "history.jsonl", func(l []string) []string {
			for i, line := range l {
				if strings.Contains(line, `"outcome":"ok"`) {
					l[i] = strings.Replace(line, `"outcome":"ok"`, `"outcome":"perhaps"`, 1)
					return l
				}
			}
			return l
		}, []string{"history.jsonl:", "perhaps"}},
		{"nothing at all", "history.jsonl", func([]string) []string { return []string{""} }, []string{"history.jsonl:1:"}},
		{"garbage in the journal", "journal.jsonl", at(3, "{"), []string{"journal.jsonl:3:"}},
		{"a plan that is none", "plan.json", func([]string) []string { return []string{"plan"} }, []string{"plan.json"}},
		{"a plan of another version", "plan.json", func(l []string) []string {
			for i := range l {
				l[i] = strings.ReplaceAll(l[i], "torture/plan/1", "torture/plan/7")
			}
			return l
		}, []string{"plan.json", "torture/plan/7"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := copyCell(t)
			edit(t, filepath.Join(dir, test.file), test.change)
			invocation{args: []string{"check", dir}}.run(t).oneLine(t, exitUsage, test.words...)
		})
	}
	for _, file := range []string{"plan.json", "journal.jsonl"} {
		t.Run("no "+file, func(t *testing.T) {
			dir := copyCell(t)
			if err := os.Remove(filepath.Join(dir, file)); err != nil {
				t.Fatal(err)
			}
			invocation{args: []string{"check", dir}}.run(t).oneLine(t, exitUsage, file)
		})
	}
}

func TestHistoriesThatCannotBeTrueAreErrors(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(l []string) []string
		words  string
	}{
		{"a reply before its request", func(l []string) []string {
			for i, line := range l {
				if strings.Contains(line, `"t":"complete"`) && strings.Contains(line, `"outcome":"ok"`) {
					l[i] = strings.Replace(line, `"time":`, `"time":1,"was":`, 1)
					return l
				}
			}
			return l
		}, "history.jsonl:"},
		{"a value nobody wrote", func(l []string) []string {
			for i, line := range l {
				if strings.Contains(line, `"t":"complete"`) && strings.Contains(line, `"write_id":"w`) {
					l[i] = strings.Replace(line, `"write_id":"w`, `"write_id":"x`, 1)
					return l
				}
			}
			return l
		}, "history.jsonl:"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := copyCell(t)
			edit(t, filepath.Join(dir, "history.jsonl"), test.change)
			o := invocation{args: []string{"check", dir}}.run(t)
			if o.code != exitError || !strings.Contains(o.out, test.words) {
				t.Errorf("exit code %d, want %d, and %q in:\n%s%s", o.code, exitError, test.words, o.out, o.errors)
			}
		})
	}
}

// A cell that was tampered with, or put together from several, is refused: judged
// by another's contract it would prove nothing.
func TestWhatDoesNotBelongTogetherIsRefused(t *testing.T) {
	replaceIn := func(file, from, to string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, file), func(l []string) []string {
				for i := range l {
					l[i] = strings.ReplaceAll(l[i], from, to)
				}
				return l
			})
		}
	}
	for _, test := range []struct {
		name   string
		damage func(*testing.T, string)
		words  []string
	}{
		{"a plan of another strategy", replaceIn("plan.json", `"etcd-claim"`, `"setnx"`), []string{"strategy", "not of one cell"}},
		{"a plan of another run", replaceIn("plan.json", `"run": "t`, `"run": "u`), []string{"run", "not of one cell"}},
		{"another guard", replaceIn("history.jsonl", `"guard":"claim"`, `"guard":"bogus"`), []string{"guard", "bogus"}},
		{"another lease", replaceIn("history.jsonl", `"ttl":1000000000`, `"ttl":-1`), []string{"ttl", "-1"}},
		{"a promise that is none", replaceIn("plan.json", `"promised"`, `"x"`), []string{"plan.json", "contract", `"x"`}},
		{"no exposures wanted", replaceIn("plan.json", `"min_exposures": 20`, `"min_exposures": 0`), []string{"min_exposures"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := copyCell(t)
			test.damage(t, dir)
			invocation{args: []string{"check", dir}}.run(t).oneLine(t, exitUsage, test.words...)
		})
	}
	t.Run("no record of the load", func(t *testing.T) {
		dir := copyCell(t)
		edit(t, filepath.Join(dir, "history.jsonl"), func(l []string) []string {
			return slices.DeleteFunc(l, func(s string) bool { return strings.Contains(s, `"t":"load"`) })
		})
		if o := (invocation{args: []string{"check", dir}}).run(t); o.code != checkers.ExitCode(checkers.Inconclusive) {
			t.Errorf("exit code %d\n%s%s", o.code, o.out, o.errors)
		}
	})
	t.Run("a pipe in place of a file", func(t *testing.T) {
		for _, file := range []string{"plan.json", "history.jsonl", "journal.jsonl"} {
			dir := copyCell(t)
			path := filepath.Join(dir, file)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(path, 0o644); err != nil {
				t.Fatal(err)
			}
			invocation{args: []string{"check", dir}}.run(t).oneLine(t, exitUsage, file, "regular file")
		}
	})
}

func TestARunIsJudgedAsAWhole(t *testing.T) {
	from, err := realCell()
	if err != nil {
		t.Fatal(err)
	}
	copyRun := func(t *testing.T) string {
		t.Helper()
		dir := t.TempDir()
		if err := os.CopyFS(filepath.Join(dir, "run"), os.DirFS(filepath.Dir(filepath.Dir(from)))); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, "run")
	}
	t.Run("a cell is missing", func(t *testing.T) {
		run := copyRun(t)
		if err := os.Rename(filepath.Join(run, "cells/etcd-claim.none"), filepath.Join(run, "cells/other.none")); err != nil {
			t.Fatal(err)
		}
		invocation{args: []string{"check", run}}.run(t).oneLine(t, exitUsage, "etcd-claim.none", "missing", "other.none", "does not belong")
	})
	t.Run("a cell broke while it ran", func(t *testing.T) {
		run := copyRun(t)
		edit(t, filepath.Join(run, "result.json"), func(l []string) []string {
			for i := range l {
				for _, s := range []string{"pass", "inconclusive"} {
					l[i] = strings.ReplaceAll(l[i], `"status": "`+s+`"`, `"status": "error"`)
				}
			}
			return l
		})
		if err := os.Remove(filepath.Join(run, "cells/etcd-claim.none/journal.jsonl")); err != nil {
			t.Fatal(err)
		}
		if o := (invocation{args: []string{"check", run}}).run(t); o.code != exitError {
			t.Errorf("exit code %d, want %d\n%s%s", o.code, exitError, o.out, o.errors)
		}
	})
}

func TestATornLastLineIsToleratedAndSaid(t *testing.T) {
	dir := copyCell(t)
	before := invocation{args: []string{"check", dir}}.run(t)
	path := filepath.Join(dir, "history.jsonl")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// A note more, torn in the middle: nothing that decides is lost.
	if err := os.WriteFile(path, append(data, []byte(`{"t":"note","time":99999`)...), 0o644); err != nil {
		t.Fatal(err)
	}
	o := invocation{args: []string{"check", dir}}.run(t)
	if o.code != before.code || !strings.Contains(o.out, "torn") {
		t.Errorf("exit code %d, was %d:\n%s%s", o.code, before.code, o.out, o.errors)
	}
}

func TestNoEngine(t *testing.T) {
	nowhere := []string{"DOCKER_HOST=unix:///nonexistent/docker.sock"}
	dir := t.TempDir()
	o := invocation{env: nowhere, args: []string{"compare", "--provider", "container", "--strategy", "setnx", "--fault", "none", "--results", dir}}.run(t)
	o.oneLine(t, exitError, "engine", "--provider process")

	o = invocation{env: nowhere, args: []string{"compare", "--strategy", "version-cas", "--fault", "none", "--duration", "1s", "--results", dir}}.run(t)
	if !strings.Contains(o.out, "local processes") || o.code == exitError {
		t.Errorf("without an engine it must use local processes and say so; exit code %d:\n%s%s", o.code, o.out, o.errors)
	}
}

func TestAMissingServerIsNamed(t *testing.T) {
	// A search path that has what Go programs need and no server.
	empty := t.TempDir()
	o := invocation{env: []string{"PATH=" + empty}, args: []string{"compare", "--provider", "process", "--strategy", "setnx", "--fault", "none", "--results", t.TempDir()}}.run(t)
	o.oneLine(t, exitError, "redis-server", "install")
}

func TestAFullDiskIsAnError(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small file system")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=256k", "torture-test", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a small file system here: %v: %s", err, bytes.TrimSpace(out))
	}
	t.Cleanup(func() { _ = exec.Command("umount", dir).Run() })
	o := invocation{args: []string{"compare", "--provider", "process", "--strategy", "setnx", "--fault", "none", "--duration", "2s", "--results", dir}}.run(t)
	if o.code != checkers.ExitCode(checkers.Errored) || !strings.Contains(o.out+o.errors, "no space left") || strings.Contains(o.out+o.errors, "goroutine ") {
		t.Errorf("exit code %d:\n%s%s", o.code, o.out, o.errors)
	}
}

func TestAResultsFolderThatCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	o := invocation{args: []string{"compare", "--strategy", "setnx", "--results", file}}.run(t)
	o.oneLine(t, exitError, file, "--results")
}
