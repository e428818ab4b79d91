package cluster

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/torture-harness/torture/harness/guardian/pidfd"
	"github.com/torture-harness/torture/harness/proc"
)

// processBody is a server that is a child process of ours. PostgreSQL has
// children itself, each in a session of its own; they are found as its
// descendants and stopped and killed with it.
type processBody struct {
	name   string
	host   *processHost
	dir    string
	log    string
	launch launch
	env    []string // besides what all get

	process *proc.Process // of the present life; nil before the first
	stopped []pidfd.Target
}

// prepare runs what must have been run once before the first start.
func (b *processBody) prepare(ctx context.Context, l launch) error {
	p, err := b.host.start(l, b.dir, nil, b.name+" "+l.program, b.log)
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), p.Kill(context.WithoutCancel(ctx)), b.sweep(context.WithoutCancel(ctx)))
	}
	if err := b.host.guardian.Gone(p.Pid()); err != nil {
		return err
	}
	if err := p.Err(); err != nil {
		s := Server{Log: b.log}
		return fmt.Errorf("%s failed (%w)%s", l.program, err, s.lastWords())
	}
	return nil
}

func (b *processBody) start(ctx context.Context) (<-chan struct{}, error) {
	if err := b.sweep(ctx); err != nil { // children of a postmaster that ended by itself
		return nil, err
	}
	p, err := b.host.start(b.launch, b.dir, b.env, b.name, b.log)
	if err != nil {
		return nil, err
	}
	b.process, b.stopped = p, nil
	return p.Done(), nil
}

// stop stops the process first, for then it makes no new children, and then
// all its descendants. If one cannot be stopped, all go on.
func (b *processBody) stop(ctx context.Context) error {
	if _, err := b.process.Stop(ctx); err != nil {
		return err
	}
	if err := b.stopDescendants(ctx); err != nil {
		return errors.Join(err, b.resume(context.WithoutCancel(ctx)))
	}
	return nil
}

func (b *processBody) stopDescendants(ctx context.Context) error {
	known := map[pidfd.Target]bool{}
	for {
		var fresh []*pidfd.Handle
		for _, t := range pidfd.Descendants(b.process.Pid()) {
			if known[t] {
				continue
			}
			known[t] = true
			if state, err := proc.StateOf(t.Pid); err == nil && state == 'T' {
				continue // a backend that StopBackend has stopped, and will continue
			}
			h, err := pidfd.Open(t)
			if errors.Is(err, pidfd.ErrGone) {
				continue
			}
			if err != nil {
				return err
			}
			defer h.Close()
			// Not our child: nothing would ever continue it if we died.
			if err := b.host.guardian.Process(t.Pid, t.Start, b.name+" child"); err != nil {
				return err
			}
			b.stopped = append(b.stopped, t)
			fresh = append(fresh, h)
		}
		if len(fresh) == 0 {
			return nil
		}
		if err := stopHandles(ctx, fresh); err != nil {
			return err
		}
	}
}

// stopHandles sends all the signals before it waits for the first proof, so
// that the processes stop at nearly one moment.
func stopHandles(ctx context.Context, hs []*pidfd.Handle) error {
	for _, h := range hs {
		if err := h.Signal(unix.SIGSTOP); err != nil && !errors.Is(err, pidfd.ErrGone) {
			return err
		}
	}
	for _, h := range hs {
		if _, err := h.Stop(ctx); err != nil && !errors.Is(err, pidfd.ErrGone) {
			return err
		}
	}
	return nil
}

// resume continues the descendants before their parent, which then finds them
// as they were.
func (b *processBody) resume(ctx context.Context) error {
	var errs []error
	for _, t := range b.stopped {
		h, err := pidfd.Open(t)
		if err == nil {
			err = h.Continue(ctx)
			h.Close()
		}
		if err != nil && !errors.Is(err, pidfd.ErrGone) {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, b.host.guardian.Gone(t.Pid))
	}
	b.stopped = nil
	return errors.Join(append(errs, b.process.Continue(ctx))...)
}

// kill ends the process and all its descendants.
func (b *processBody) kill(ctx context.Context) error {
	if b.process == nil {
		return b.sweep(ctx)
	}
	errs := []error{}
	children := pidfd.Descendants(b.process.Pid())
	errs = append(errs, b.process.Kill(ctx))
	for _, t := range append(children, b.stopped...) {
		errs = append(errs, killTarget(ctx, t), b.host.guardian.Gone(t.Pid))
	}
	b.stopped = nil
	errs = append(errs, b.sweep(ctx), b.host.guardian.Gone(b.process.Pid()))
	return errors.Join(errs...)
}

// sweep kills whoever still works in the server's folder: children born while
// their parent was being killed.
func (b *processBody) sweep(ctx context.Context) error {
	for {
		left := pidfd.WorkingIn(b.dir, b.host.binaries)
		if len(left) == 0 {
			return nil
		}
		for _, t := range left {
			if err := killTarget(ctx, t); err != nil {
				return err
			}
		}
	}
}

func killTarget(ctx context.Context, t pidfd.Target) error {
	h, err := pidfd.Open(t)
	if errors.Is(err, pidfd.ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	defer h.Close()
	return h.Kill(ctx)
}
