package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// binary is a package's tests with all its mutants.
type binary struct {
	path   string
	dir    string
	stages []stage
}

// stage is a choice of tests.
type stage struct {
	run, skip string // as the flags of the same names
	histories int    // how many random ones
}

// build compiles the tests of a package together with its mutants, and asks
// them whether they pass while none is alive.
func (p *mutated) build(ctx context.Context, work string) (*binary, error) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for path, content := range p.files {
		at := filepath.Join(work, strings.ReplaceAll(path, string(filepath.Separator), "_"))
		if err := os.WriteFile(at, content, 0o644); err != nil {
			return nil, err
		}
		whole, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		overlay.Replace[whole] = at
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return nil, err
	}
	list := filepath.Join(work, "overlay.json")
	if err := os.WriteFile(list, text, 0o644); err != nil {
		return nil, err
	}
	b := &binary{path: filepath.Join(work, filepath.Base(p.dir)+".test"), dir: p.dir, stages: p.stages}
	compile := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", list, "-o", b.path, "./"+p.dir)
	if out, err := compile.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile the mutants of %s: %w\n%s", p.dir, err, out)
	}
	by, err := b.kill(ctx, 0)
	if err != nil {
		return nil, err
	}
	if by != "" {
		return nil, fmt.Errorf("%s: no mutant is alive, and yet %s fails", p.dir, by)
	}
	return b, nil
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// kill says which test catches a mutant, "" if none does.
func (b *binary) kill(ctx context.Context, mutant int) (by string, err error) {
	for _, s := range b.stages {
		if by, err = b.ask(ctx, mutant, s); by != "" || err != nil {
			return by, err
		}
	}
	return "", nil
}

// What a mutant may use: one that appends for ever must not take the machine
// with it, and one that never ends is caught too. It is the processor's time that
// counts: how long it takes by the clock depends on what else the machine does.
const (
	memory  = 6 << 20 // KiB
	seconds = 120
)

func (b *binary) ask(ctx context.Context, mutant int, s stage) (by string, err error) {
	if s.skip == "" {
		s.skip = "^$"
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", `ulimit -v "$0" && ulimit -t "$1" && shift && exec "$@"`, strconv.Itoa(memory), strconv.Itoa(seconds),
		b.path, "-test.failfast", "-test.run", s.run, "-test.skip", s.skip)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "MUTANT="+strconv.Itoa(mutant), "TORTURE_HISTORIES="+strconv.Itoa(s.histories))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case !errors.As(err, &exit):
		return "", fmt.Errorf("run %s: %w", b.path, err)
	case exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGXCPU, exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		return "its time: it did not end", nil
	}
	if m := failed.FindSubmatch(out); m != nil {
		if mutant == 0 {
			return string(out), nil
		}
		return string(m[1]), nil
	}
	if strings.Contains(string(out), "panic:") || strings.Contains(string(out), "fatal error:") {
		return "a panic", nil
	}
	return "", fmt.Errorf("run %s: %w\n%s", b.path, err, out)
}
