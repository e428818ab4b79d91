package proc

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// State is what a Process is doing, as far as we made it do so.
type State string

// The states and their order: running ⇄ paused, then exited.
const (
	Running State = "running"
	Paused  State = "paused"
	Exited  State = "exited"
)

// ErrExited is returned by every call on a process that is gone.
var ErrExited = errors.New("the process has exited")

// Process is a child of ours.
type Process struct {
	cmd   *exec.Cmd
	pid   int
	pidfd int
	start uint64
	done  chan struct{}
	err   error // of Wait; readable once done is closed

	mu    sync.Mutex // serializes changes of state
	state State
}

// Pid is the number of the process.
func (p *Process) Pid() int { return p.pid }

// StartTime is when it started, in clock ticks since boot. Together with the
// pid and BootID it names a process for good.
func (p *Process) StartTime() uint64 { return p.start }

// Done is closed once the process is gone and has been waited for.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how it ended: nil for exit code 0. Only valid after Done.
func (p *Process) Err() error { return p.err }

// State is the current state.
func (p *Process) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.exited() {
		return Exited
	}
	return p.state
}

func (p *Process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *Process) reap() {
	p.err = p.cmd.Wait()
	close(p.done)
}

// change asserts that the process is in state from, runs do, and notes to.
func (p *Process) change(from, to State, do func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.exited() {
		return fmt.Errorf("process %d: %w", p.pid, ErrExited)
	}
	if p.state != from {
		return fmt.Errorf("process %d is %s, not %s", p.pid, p.state, from)
	}
	if err := do(); err != nil {
		return fmt.Errorf("process %d: %w", p.pid, err)
	}
	p.state = to
	return nil
}

// Stop sends SIGSTOP and returns once the process is proven to be stopped: the
// kernel reported the stop to its parent, and every thread was seen in state T.
// It returns how many threads that were. When it fails the process is let go on.
func (p *Process) Stop(ctx context.Context) (threads int, err error) {
	err = p.change(Running, Paused, func() error {
		if err := p.send(unix.SIGSTOP); err != nil {
			return err
		}
		if threads, err = p.proveStopped(ctx); err != nil {
			_ = p.send(unix.SIGCONT)
		}
		return err
	})
	return threads, err
}

// Continue lets a stopped process go on, and returns once it does.
func (p *Process) Continue(ctx context.Context) error {
	return p.change(Paused, Running, func() error {
		if err := p.send(unix.SIGCONT); err != nil {
			return err
		}
		return poll(ctx, func() (bool, error) {
			states, err := ThreadStates(p.pid)
			return err == nil && !All(states, 'T'), ignoreGone(err)
		})
	})
}

// Signal sends a signal that does not change whether the process runs, SIGTERM
// say. A stopped process acts on it only after Continue.
func (p *Process) Signal(_ context.Context, sig syscall.Signal) error {
	if sig == unix.SIGSTOP || sig == unix.SIGCONT {
		return fmt.Errorf("process %d: use Stop and Continue", p.pid)
	}
	if p.exited() {
		return fmt.Errorf("process %d: %w", p.pid, ErrExited)
	}
	return p.send(sig)
}

// Kill sends SIGKILL, which reaches stopped processes too, and returns once the
// process is gone. Killing one that is gone already is no error.
func (p *Process) Kill(ctx context.Context) error {
	if err := p.send(unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process %d: %w", p.pid, err)
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("process %d did not end after SIGKILL: %w", p.pid, ctx.Err())
	}
}

func (p *Process) send(sig syscall.Signal) error {
	return unix.PidfdSendSignal(p.pidfd, sig, nil, 0)
}

// proveStopped waits for the kernel's report of the stop, then looks at the
// threads. Looking alone races: a thread may not have been told yet.
func (p *Process) proveStopped(ctx context.Context) (int, error) {
	reported := make(chan error, 1)
	go func() { reported <- waitStopped(p.pidfd) }()
	select {
	case err := <-reported:
		if err != nil {
			return 0, err
		}
	case <-ctx.Done():
		return 0, fmt.Errorf("no report of its stop: %w", ctx.Err())
	}
	threads := 0
	err := poll(ctx, func() (bool, error) {
		states, err := ThreadStates(p.pid)
		threads = len(states)
		return err == nil && All(states, 'T'), err
	})
	return threads, err
}

// waitStopped blocks until the child has stopped or exited. WNOWAIT leaves the
// report for whoever reaps it.
func waitStopped(pidfd int) error {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PIDFD, pidfd, &info, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECHILD):
			return ErrExited
		case err != nil:
			return fmt.Errorf("waitid: %w", err)
		case info.Code == cldStopped:
			return nil
		default:
			return ErrExited
		}
	}
}

const cldStopped = 5 // CLD_STOPPED of siginfo.h; not in x/sys

// poll probes until done, an error, or the end of ctx.
func poll(ctx context.Context, probe func() (bool, error)) error {
	const every = 200 * time.Microsecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if done, err := probe(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
