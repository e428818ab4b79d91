package main

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/torture-harness/torture/checkers/histories"
)

// TestValidateOnly takes a file or a folder, judges nothing, and names the line
// of what is wrong.
func TestValidateOnly(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "history.jsonl")
	lines := strings.Split(strings.TrimSpace(made(t, file, histories.Shape{Operations: 60, Stale: 1})), "\n")
	for _, path := range []string{file, dir} {
		o := invocation{args: []string{"check", "--validate-only", path}}.run(t)
		if o.code != 0 || o.out != file+": valid, 63 operations\n" || o.errors != "" {
			t.Errorf("%s: exit code %d, output %q, errors %q", path, o.code, o.out, o.errors)
		}
	}
	lines[50] = lines[50][:len(lines[50])/2]
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir:                             file + ":51: not JSON",
		file:                            file + ":51: not JSON",
		t.TempDir():                     "no history.jsonl is in it",
		filepath.Join(dir, "elsewhere"): "no such file",
	} {
		o := invocation{args: []string{"check", path, "--validate-only"}}.run(t)
		if o.code != 2 || !strings.Contains(o.errors, want) || strings.Count(o.errors, "\n") != 1 || o.out != "" {
			t.Errorf("%s: exit code %d, output %q, errors %q; want 2 and %q", path, o.code, o.out, o.errors, want)
		}
	}
}

func made(t *testing.T, path string, s histories.Shape) string {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	if err := s.WriteLines(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if s.Operations > 1000 {
		return "" // nobody wants to look at it
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestValidateOnlyInLittleMemory: twenty times as many operations take less
// than twice the memory.
func TestValidateOnlyInLittleMemory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history.jsonl")
	peak := func(operations int) int64 {
		made(t, file, histories.Shape{Resources: 4, Operations: operations / 4, Unknown: 0.01, Paused: 0.01})
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		cmd := invocation{args: []string{"check", "--validate-only", file}}.command(ctx, t)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss // kB
	}
	little, much := peak(10_000), peak(200_000)
	t.Logf("10,000 operations: %d kB, 200,000: %d kB", little, much)
	if much > 2*little {
		t.Errorf("200,000 operations take %d kB, 10,000 %d kB", much, little)
	}
}
