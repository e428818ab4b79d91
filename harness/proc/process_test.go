package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary is its own child: with this variable set it becomes a parent
// that starts a sleeper, prints its pid and waits to be killed.
const parentVariable = "TORTURE_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) != "" {
		p, err := Start(exec.Command("sleep", "600"))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(p.Pid(), p.StartTime())
		select {}
	}
	os.Exit(m.Run())
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// counter is a process with several threads that counts without end.
func counter(t *testing.T) (*Process, func() string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "i=0; while :; do i=$((i+1)); echo $i; done")
	cmd.Stdout = w
	p, err := Start(cmd)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		if err := p.Kill(context.Background()); err != nil {
			t.Error(err)
		}
	})
	lines := bufio.NewScanner(r)
	return p, func() string { lines.Scan(); return lines.Text() }
}

func TestStopIsProvenAndContinueGoesOn(t *testing.T) {
	ctx := deadline(t)
	p, next := counter(t)
	for range 50 {
		next()
		threads, err := p.Stop(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if state, _ := StateOf(p.Pid()); state != 'T' || threads != 1 {
			t.Fatalf("after Stop: state %c, %d threads", state, threads)
		}
		if p.State() != Paused {
			t.Fatalf("State() = %s", p.State())
		}
		if err := p.Continue(ctx); err != nil {
			t.Fatal(err)
		}
		if state, _ := StateOf(p.Pid()); state == 'T' {
			t.Fatal("still stopped after Continue")
		}
	}
}

func TestStopSeesEveryThread(t *testing.T) {
	ctx := deadline(t)
	cmd := exec.Command(os.Args[0]) // a Go program: several threads
	cmd.Env = append(os.Environ(), parentVariable+"=1")
	p, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill(context.Background())
	err = poll(ctx, func() (bool, error) { s, err := ThreadStates(p.Pid()); return len(s) > 2, err })
	if err != nil {
		t.Fatal(err)
	}
	threads, err := p.Stop(ctx)
	if err != nil || threads < 3 {
		t.Fatalf("Stop: %d threads, %v", threads, err)
	}
}

func TestWrongOrderIsRefused(t *testing.T) {
	ctx := deadline(t)
	p, _ := counter(t)
	if err := p.Continue(ctx); err == nil {
		t.Error("Continue of a running process must be refused")
	}
	if _, err := p.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Stop(ctx); err == nil {
		t.Error("Stop of a stopped process must be refused")
	}
	if err := p.Signal(ctx, syscall.SIGCONT); err == nil {
		t.Error("SIGCONT through Signal must be refused")
	}
	if err := p.Kill(ctx); err != nil {
		t.Fatalf("Kill of a stopped process: %v", err)
	}
	if _, err := p.Stop(ctx); !errors.Is(err, ErrExited) {
		t.Errorf("Stop after the end: %v", err)
	}
	if err := p.Kill(ctx); err != nil {
		t.Errorf("a second Kill: %v", err)
	}
	if p.State() != Exited {
		t.Errorf("State() = %s", p.State())
	}
}

func TestStopOfOneThatExitsReturns(t *testing.T) {
	ctx := deadline(t)
	for range 20 {
		p, err := Start(exec.Command("true"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Stop(ctx); err != nil && !errors.Is(err, ErrExited) && !errors.Is(err, syscall.ESRCH) {
			t.Fatalf("unexpected: %v", err)
		}
		if err := p.Kill(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func TestChildrenDieWithTheirParent(t *testing.T) {
	ctx := deadline(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), parentVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	var start uint64
	if _, err := fmt.Fscan(strings.NewReader(line), &pid, &start); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	err = poll(ctx, func() (bool, error) {
		now, err := StartTimeOf(pid)
		if err != nil || now != start {
			return true, nil
		}
		state, _ := StateOf(pid)
		return state == 'Z', nil // whoever inherited it will reap it
	})
	if err != nil {
		t.Fatalf("the child outlived its parent: %v", err)
	}
}

func TestStartTimeNamesAProcess(t *testing.T) {
	p, _ := counter(t)
	if got, err := StartTimeOf(p.Pid()); err != nil || got != p.StartTime() || got == 0 {
		t.Errorf("StartTimeOf = %d, %v; StartTime = %d", got, err, p.StartTime())
	}
	if BootID() == "" {
		t.Error("no boot id")
	}
}
