package explore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/torture-harness/torture/harness/explore/view"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/worker"
	"github.com/torture-harness/torture/workloads"
)

// staging is one schedule while it is played.
type staging struct {
	*place
	Forecast
	evidence
	resource string
	row      int
	faults   int
	writer   map[string]string // write id to client
}

// beat makes one move.
func (s *staging) beat(ctx context.Context, i int) error {
	b := s.Beats[i]
	a := s.actors[b.Client]
	if a.lost != "" || a.over && b.Do != history.Release {
		return s.goOn(ctx, b.Client) // it leaves the step out
	}
	if b.Stop >= 0 {
		if err := s.stop(ctx, b.Stop); err != nil {
			return err
		}
	}
	switch {
	case b.Do == history.Acquire:
		return s.acquire(ctx, i)
	case b.Phase == Sent:
		return s.send(ctx, i)
	case b.Phase == Landed:
		return s.land(ctx, i)
	}
	running, err := a.player.Begin(a.role, workloads.Step{Do: b.Do})
	if err != nil {
		return err
	}
	// The step is in the pipe before it is let go on.
	if err := s.goOn(ctx, b.Client); err != nil {
		return err
	}
	if err := s.wait(ctx, i, running); err != nil || b.Do != history.Write {
		return err
	}
	return s.look(ctx)
}

// wait waits for the end of a step, and keeps what its client was told.
func (s *staging) wait(ctx context.Context, i int, running *worker.Running) error {
	ctx, cancel := bounded(ctx, stepPatience)
	defer cancel()
	b, a := s.Beats[i], s.actors[s.Beats[i].Client]
	done, held, err := running.Wait(ctx)
	if err != nil {
		return fmt.Errorf("%s of %s: %w", b.Do, Name(b.Client), errors.Join(err, context.Cause(ctx)))
	}
	a.held = held
	s.note(i, done)
	switch {
	case done.Outcome == history.OK:
	case b.Do == history.Acquire:
		a.lost = done.Error
		return impossible{Name(b.Client) + " did not get the lock: " + done.Error}
	case done.Outcome == history.Lost && s.cell.strategy.Ignore:
	default:
		a.over = true
	}
	return nil
}

func (s *staging) note(i int, done workloads.Done) {
	s.took[i] = took{op: done.Op, outcome: done.Outcome, call: done.Call, return_: done.Return,
		leaseCall: done.LeaseCall, leaseTTL: done.LeaseTTL, problem: done.Error}
	switch done.Kind {
	case history.Write:
		s.writer[done.Op] = Name(s.Beats[i].Client)
	case history.Read, history.Claim:
		s.took[i].saw = s.writer[done.WriteID]
	}
}

// acquire takes the lock. Who holds it has been stopped, and its lease ends by
// itself while the other is waiting for it; or it is ended at the server.
func (s *staging) acquire(ctx context.Context, i int) error {
	b, a := s.Beats[i], s.actors[s.Beats[i].Client]
	if b.Stop >= 0 && s.cell.plan.Expiry == Forced {
		if err := s.endLease(ctx, b.Stop); err != nil {
			return err
		}
	}
	running, err := a.player.Begin(a.role, workloads.Step{Do: history.Acquire})
	if err != nil {
		return err
	}
	if err := s.goOn(ctx, b.Client); err != nil {
		return err
	}
	limit := time.NewTimer(10*s.cell.plan.TTL + 20*time.Second)
	defer limit.Stop()
	select {
	case <-running.Ended():
	case <-limit.C:
		if err := a.player.GiveUp(a.role); err != nil {
			return err
		}
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), a.player.GiveUp(a.role))
	}
	if err := s.wait(ctx, i, running); err != nil || b.Stop < 0 {
		return err
	}
	return s.seeEnd(ctx, b.Stop)
}

// fault is a fresh fault of this schedule.
func (s *staging) fault(kind string, client int) history.Fault {
	s.faults++
	return history.Fault{ID: fmt.Sprintf("%s/%s-%d", s.resource, kind, s.faults), Kind: kind, Victim: s.actors[client].worker}
}

func (s *staging) say(at int64, f history.Fault) {
	s.cell.record(history.Event{Type: history.TypeFault, Time: at, Worker: f.Victim, Fault: &f})
}

// endLease ends the lease of a stopped client at the server.
func (s *staging) endLease(ctx context.Context, client int) error {
	f := s.fault(view.Lease, client)
	f.Phase = history.Armed
	at := history.Now()
	s.say(at, f)
	s.ends = append(s.ends, ended{client: client, forced: at})
	ctx, cancel := bounded(ctx, stepPatience)
	defer cancel()
	return s.cell.run.leases.End(ctx, s.cell.strategy.Locker, s.actors[client].held.Lease)
}

// seeEnd looks at the server for the lease of a stopped client, whose lock
// somebody else has got. Several servers do not end it in the same moment.
func (s *staging) seeEnd(ctx context.Context, client int) error {
	looking, cancel := bounded(ctx, 2*s.cell.plan.TTL+2*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	gone := s.cell.run.leases.Gone(looking, s.cell.strategy.Locker, s.actors[client].held.Lease)
	for !gone && looking.Err() == nil {
		select {
		case <-tick.C:
			gone = s.cell.run.leases.Gone(looking, s.cell.strategy.Locker, s.actors[client].held.Lease)
		case <-looking.Done():
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	f := s.fault(view.Lease, client)
	f.Phase = history.Failed
	if gone {
		f.Phase = history.Healed
	}
	s.say(history.Now(), f)
	for i := range s.ends {
		if s.ends[i].client == client {
			s.ends[i].gone = gone
			return nil
		}
	}
	s.ends = append(s.ends, ended{client: client, gone: gone})
	return nil
}

// stop stops a client's process and returns once that is proven.
func (s *staging) stop(ctx context.Context, client int) error {
	a := s.actors[client]
	if a.stopped {
		return nil
	}
	ctx, cancel := bounded(ctx, stepPatience)
	defer cancel()
	threads, at, err := a.player.Stop(ctx)
	if err != nil {
		return fmt.Errorf("stop %s: %w", Name(client), err)
	}
	a.stopped = true
	f := s.fault(view.Stop, client)
	f.Phase, f.Threads = history.Stopped, threads
	s.say(at, f)
	s.stops = append(s.stops, span{client: client, from: at, to: history.Never, threads: threads, fault: f})
	return nil
}

// goOn lets a client's process go on, if it is stopped.
func (s *staging) goOn(ctx context.Context, client int) error {
	a := s.actors[client]
	if !a.stopped {
		return nil
	}
	ctx, cancel := bounded(ctx, stepPatience)
	defer cancel()
	// Stamped before the signal.
	s.over(s.stops, client, history.Resumed)
	a.stopped = false
	if err := a.player.Continue(ctx); err != nil {
		return fmt.Errorf("let %s go on: %w", Name(client), err)
	}
	return nil
}

// over ends the open spans of a client.
func (s *staging) over(spans []span, client int, phase history.Phase) {
	for i := range spans {
		if open := &spans[i]; open.client == client && open.to == history.Never {
			open.to = history.Now()
			f := open.fault
			f.Phase = phase
			s.say(open.to, f)
		}
	}
}

// send sends a write that the network holds.
func (s *staging) send(ctx context.Context, i int) error {
	b, a := s.Beats[i], s.actors[s.Beats[i].Client]
	a.proxy.HoldRequests()
	running, err := a.player.Begin(a.role, workloads.Step{Do: history.Write})
	if err != nil {
		return err
	}
	a.flying = running
	if err := s.goOn(ctx, b.Client); err != nil {
		return err
	}
	waiting, cancel := bounded(ctx, stepPatience)
	defer cancel()
	conns, err := a.proxy.AwaitHeld(waiting, 1)
	if err != nil {
		return fmt.Errorf("the write of %s: %w", Name(b.Client), err)
	}
	at := history.Now()
	f := s.fault(view.Hold, b.Client)
	f.Phase, f.Bytes = history.Held, map[string]int{s.resource: conns[0].Stats().HeldRequests}
	s.say(at, f)
	s.holds = append(s.holds, span{client: b.Client, from: at, to: history.Never, fault: f})
	return s.look(ctx)
}

// land lets the held write of a client through.
func (s *staging) land(ctx context.Context, i int) error {
	b, a := s.Beats[i], s.actors[s.Beats[i].Client]
	s.release(b.Client)
	if err := s.goOn(ctx, b.Client); err != nil {
		return err
	}
	running := a.flying
	a.flying = nil
	if err := s.wait(ctx, i, running); err != nil {
		return err
	}
	// The call is known only now.
	for j := range s.Beats[:i] {
		if s.Beats[j].Client == b.Client && s.Beats[j].Phase == Sent {
			s.took[j] = s.took[i]
		}
	}
	return s.look(ctx)
}

// release lets through what the network holds of a client.
func (s *staging) release(client int) {
	s.over(s.holds, client, history.Released)
	s.actors[client].proxy.Release()
}

// look reads the row, as somebody who takes no part.
func (s *staging) look(ctx context.Context) error {
	ctx, cancel := bounded(ctx, stepPatience)
	defer cancel()
	_, err := s.eye.Look(ctx, s.row)
	return err
}

// heal lets everybody go on and everything through, waits for what is under way,
// and reads the row for the last time.
func (s *staging) heal(ctx context.Context) error {
	var errs []error
	for client, a := range s.actors {
		s.release(client)
		errs = append(errs, s.goOn(ctx, client))
		if a.flying != nil {
			waiting, cancel := bounded(ctx, stepPatience)
			_, _, err := a.flying.Wait(waiting)
			cancel()
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, s.look(ctx))...)
}
