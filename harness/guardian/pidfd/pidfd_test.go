package pidfd

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torture-harness/torture/harness/proc"
)

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func start(t *testing.T, dir, name string, args ...string) (*exec.Cmd, Target) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	begun, err := proc.StartTimeOf(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, Target{Pid: cmd.Process.Pid, Start: begun}
}

func TestStopContinueKill(t *testing.T) {
	ctx := testContext(t)
	cmd, target := start(t, "", "sleep", "1000")
	h, err := Open(target)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if n, err := h.Stop(ctx); err != nil || n != 1 {
		t.Errorf("stop: %d threads, %v", n, err)
	}
	if s, err := proc.StateOf(target.Pid); err != nil || s != 'T' {
		t.Errorf("state %c, %v", s, err)
	}
	if err := h.Continue(ctx); err != nil {
		t.Error(err)
	}
	if s, err := proc.StateOf(target.Pid); err != nil || s == 'T' {
		t.Errorf("state %c, %v", s, err)
	}
	if err := h.Kill(ctx); err != nil { // its zombie counts as ended
		t.Error(err)
	}
	_ = cmd.Wait()
	if err := h.Signal(unix.SIGCONT); !errors.Is(err, ErrGone) {
		t.Errorf("signal to one that is gone: %v", err)
	}
	if err := h.Kill(ctx); err != nil {
		t.Errorf("kill of one that is gone: %v", err)
	}
	if _, err := Open(target); !errors.Is(err, ErrGone) {
		t.Errorf("open one that is gone: %v", err)
	}
}

func TestOpenRefusesAnother(t *testing.T) {
	_, target := start(t, "", "sleep", "1000")
	target.Start++
	if _, err := Open(target); !errors.Is(err, ErrGone) {
		t.Errorf("open: %v", err)
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	_, target := start(t, "", "sleep", "1000")
	h, err := Open(target)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("wait: %v", err)
	}
}

func TestDescendants(t *testing.T) {
	ctx := testContext(t)
	// A shell, a shell of its own session, and a sleep of that.
	_, top := start(t, "", "sh", "-c", `setsid sh -c 'sleep 1000 & wait' & wait`)
	var found []Target
	for len(found) < 2 {
		if ctx.Err() != nil {
			t.Fatalf("found only %v", found)
		}
		found = Descendants(top.Pid)
	}
	if slices.Contains(found, top) {
		t.Error("it is a descendant of itself")
	}
	for _, d := range found {
		h, err := Open(d)
		if err != nil {
			t.Fatal(err)
		}
		_ = h.Signal(syscall.SIGKILL)
		h.Close()
	}
}

func TestWorkingIn(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	if sleep, err = filepath.EvalSymlinks(sleep); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(dir, "inside")
	beside := dir + "-beside"
	for _, d := range []string{inside, beside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	_, below := start(t, inside, sleep, "1000")
	_, top := start(t, dir, sleep, "1000")
	start(t, beside, sleep, "1000")
	start(t, dir, "tail", "-f", "/dev/null") // another program, a shell of somebody say
	found := WorkingIn(dir, []string{sleep})
	if len(found) != 2 || !slices.Contains(found, below) || !slices.Contains(found, top) {
		t.Errorf("found %v, want %v and %v", found, below, top)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if found := WorkingIn(dir, []string{sleep}); len(found) != 2 {
		t.Errorf("in a folder that was removed: %v", found)
	}
}
