package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The test binary is torture itself when this variable is set, with its
// workers and its guardian: they inherit it.
const beTorture = "TORTURE_TEST_BE_TORTURE"

func TestMain(m *testing.M) {
	if os.Getenv(beTorture) != "" {
		os.Exit(run(os.Args[1:]))
	}
	code := m.Run()
	if err := os.RemoveAll(cellFolder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// invocation is one run of the program.
type invocation struct {
	args []string
	env  []string // besides our own
	dir  string
}

type outcome struct {
	code        int
	out, errors string
}

func (i invocation) command(ctx context.Context, t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, os.Args[0], i.args...)
	cmd.Env = append(append(os.Environ(), beTorture+"=1", "NO_COLOR=1"), i.env...)
	cmd.Dir = i.dir
	return cmd
}

func (i invocation) run(t *testing.T) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := i.command(ctx, t)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		t.Fatalf("torture %s: %v", strings.Join(i.args, " "), err)
	}
	return outcome{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

func torture(t *testing.T, args ...string) outcome {
	t.Helper()
	return invocation{args: args, dir: t.TempDir()}.run(t)
}

// oneLine asserts an error of one clear line: no trace, and the words wanted.
func (o outcome) oneLine(t *testing.T, code int, words ...string) {
	t.Helper()
	if o.code != code {
		t.Errorf("exit code %d, want %d\n%s%s", o.code, code, o.out, o.errors)
	}
	text := strings.TrimSpace(o.errors)
	if text == "" || strings.Contains(text, "\n") || strings.Contains(text, "goroutine ") {
		t.Errorf("want one line on standard error, got %q", o.errors)
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q does not say %q", text, w)
		}
	}
}

func TestWrongUsage(t *testing.T) {
	for _, test := range []struct {
		name  string
		args  []string
		words []string
	}{
		{"unknown command", []string{"compre"}, []string{`"compre"`, "--help"}},
		{"unknown flag", []string{"compare", "--sed", "1"}, []string{"--sed", "compare --help"}},
		{"no number", []string{"compare", "--seed", "x"}, []string{"--seed", `"x"`}},
		{"no duration", []string{"compare", "--ttl", "3"}, []string{"--ttl", `"3"`}},
		{"unknown strategy", []string{"compare", "--strategy", "setnx,zookeeper"}, []string{`"zookeeper"`, "etcd-fenced"}},
		{"unknown fault", []string{"compare", "--fault", "gc"}, []string{`"gc"`, "pause-holder"}},
		{"twice", []string{"compare", "--strategy", "setnx,setnx"}, []string{"twice"}},
		{"lease too short", []string{"compare", "--ttl", "10ms"}, []string{"--ttl", "500ms"}},
		{"no whole seconds", []string{"compare", "--strategy", "etcd-fenced", "--ttl", "1500ms"}, []string{"whole seconds", "2s"}},
		{"too short", []string{"compare", "--duration", "1ms"}, []string{"--duration"}},
		{"one worker", []string{"compare", "--workers", "1"}, []string{"--workers"}},
		{"unknown provider", []string{"compare", "--provider", "podman"}, []string{"podman", "container", "process"}},
		{"image", []string{"compare", "--image", "mysql=8"}, []string{"--image", "redis=NAME"}},
		{"no lease", []string{"compare", "--ttl", "0s"}, []string{"--ttl", "default"}},
		{"no workers", []string{"compare", "--workers", "0"}, []string{"--workers"}},
		{"no strategy", []string{"compare", "--strategy", ""}, []string{"--strategy"}},
		{"negative lease", []string{"compare", "--ttl", "-1s"}, []string{"--ttl"}},
		{"negative think", []string{"compare", "--think", "-1s"}, []string{"--think"}},
		{"argument", []string{"compare", "setnx"}, []string{"no arguments"}},
		{"explore argument", []string{"explore", "setnx"}, []string{"no arguments"}},
		{"explore unknown", []string{"explore", "--strategy", "zookeeper"}, []string{`"zookeeper"`, "etcd-fenced"}},
		{"explore without a model", []string{"explore", "--strategy", "row-lock"}, []string{"no model", "fenced"}},
		{"explore alone", []string{"explore", "--clients", "1"}, []string{"--clients", "2 to"}},
		{"explore no clients", []string{"explore", "--clients", "0"}, []string{"--clients", "default"}},
		{"explore too many", []string{"explore", "--clients", "4", "--strategy", "setnx"}, []string{"--schedules"}},
		{"explore expiry", []string{"explore", "--expiry", "now"}, []string{"--expiry", "natural", "forced"}},
		{"replay nothing", []string{"replay"}, []string{"one folder"}},
		{"replay elsewhere", []string{"replay", "/nonexistent"}, []string{"/nonexistent"}},
		{"check nothing", []string{"check"}, []string{"one run folder"}},
		{"check elsewhere", []string{"check", "/nonexistent"}, []string{"/nonexistent"}},
		{"report elsewhere", []string{"report", "/nonexistent"}, []string{"/nonexistent"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			invocation{args: test.args, dir: dir}.run(t).oneLine(t, exitUsage, test.words...)
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
				t.Errorf("wrong usage left %v behind", left)
			}
		})
	}
}

func TestHelpAndLists(t *testing.T) {
	for _, test := range []struct {
		args  []string
		words []string
	}{
		{[]string{"--help"}, []string{"compare", "check", "doctor", "clean", "list", "images"}},
		{[]string{"compare", "--help"}, []string{"--strategy", "--fault", "--seed", "--duration", "--ttl", "--provider", "--results", "Exit code"}},
		{[]string{"list"}, []string{"setnx", "redlock", "etcd-plain", "etcd-fenced", "etcd-claim", "version-cas", "pause-holder", "kill-worker", "predicted"}},
		{[]string{"version"}, []string{"torture"}},
	} {
		o := torture(t, test.args...)
		if o.code != 0 {
			t.Errorf("torture %v: exit code %d\n%s", test.args, o.code, o.errors)
		}
		for _, w := range test.words {
			if !strings.Contains(o.out, w) {
				t.Errorf("torture %v does not say %q:\n%s", test.args, w, o.out)
			}
		}
	}
}

func TestWorkerRefusesStrangers(t *testing.T) {
	o := invocation{args: []string{"worker"}}.run(t)
	o.oneLine(t, exitError, "started by torture itself")
}
