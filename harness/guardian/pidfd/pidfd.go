// Package pidfd acts on processes that are not our children: the backends of a
// PostgreSQL, or whatever a dead run left behind. A process is named by its pid
// and its start time, and every signal goes through a pidfd opened before the
// two were compared, so it never reaches a process that merely inherited the
// number.
package pidfd

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torture-harness/torture/harness/proc"
)

// ErrGone says that the process has ended, or that its number now belongs to
// another one.
var ErrGone = errors.New("the process is gone")

// Target names a process for as long as the machine is up.
type Target struct {
	Pid   int
	Start uint64 // clock ticks since boot, proc(5) stat field 22
}

// Handle is an open pidfd of a Target.
type Handle struct {
	Target
	fd int
}

// Open returns a handle of exactly the process t, or ErrGone.
func Open(t Target) (*Handle, error) {
	fd, err := unix.PidfdOpen(t.Pid, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
		return nil, fmt.Errorf("process %d: %w", t.Pid, ErrGone)
	}
	if err != nil {
		return nil, fmt.Errorf("open a pidfd of process %d: %w", t.Pid, err)
	}
	// If the process we mean is alive now, it was alive when the pidfd was
	// opened, so the pidfd is its.
	start, err := proc.StartTimeOf(t.Pid)
	if err != nil || start != t.Start {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("process %d: %w", t.Pid, ErrGone)
	}
	return &Handle{Target: t, fd: fd}, nil
}

// Close closes the pidfd. It does nothing to the process.
func (h *Handle) Close() { _ = unix.Close(h.fd) }

// Signal sends sig; ErrGone if there is nobody left to receive it.
func (h *Handle) Signal(sig syscall.Signal) error {
	err := unix.PidfdSendSignal(h.fd, sig, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("process %d: %w", h.Pid, ErrGone)
	}
	if err != nil {
		return fmt.Errorf("send %s to process %d: %w", unix.SignalName(sig), h.Pid, err)
	}
	return nil
}

// Wait returns once the process has ended. A zombie, dead but not yet reaped by
// its parent, has ended.
func (h *Handle) Wait(ctx context.Context) error {
	const look = 100 // ms; how soon an ended ctx is noticed
	for {
		fds := []unix.PollFd{{Fd: int32(h.fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, look)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for process %d: %w", h.Pid, err)
		}
		if n > 0 {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("process %d has not ended: %w", h.Pid, ctx.Err())
		}
	}
}

// Stop sends SIGSTOP and returns once every thread was seen in state T: how
// many that were. ErrGone if the process ended instead.
func (h *Handle) Stop(ctx context.Context) (threads int, err error) {
	if err := h.Signal(unix.SIGSTOP); err != nil {
		return 0, err
	}
	err = h.until(ctx, func(states []byte) bool {
		threads = len(states)
		return proc.All(states, 'T')
	})
	return threads, err
}

// Continue sends SIGCONT and returns once the process is no longer stopped.
func (h *Handle) Continue(ctx context.Context) error {
	if err := h.Signal(unix.SIGCONT); err != nil {
		return err
	}
	return h.until(ctx, func(states []byte) bool { return !proc.All(states, 'T') })
}

// Kill sends SIGKILL and returns once the process has ended. It is no error if
// it had ended before.
func (h *Handle) Kill(ctx context.Context) error {
	if err := h.Signal(unix.SIGKILL); err != nil && !errors.Is(err, ErrGone) {
		return err
	}
	return h.Wait(ctx)
}

// until looks at the threads' states until they satisfy done.
func (h *Handle) until(ctx context.Context, done func(states []byte) bool) error {
	tick := time.NewTicker(500 * time.Microsecond)
	defer tick.Stop()
	for {
		states, err := proc.ThreadStates(h.Pid)
		if err != nil || proc.All(states, 'Z') {
			return fmt.Errorf("process %d: %w", h.Pid, ErrGone)
		}
		if done(states) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d, threads in states %s: %w", h.Pid, states, ctx.Err())
		case <-tick.C:
		}
	}
}
