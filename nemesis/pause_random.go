package nemesis

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

// PauseRandom stops workers blindly, wherever they are, as a garbage collector
// would. All but the last worker are hit, each in a rhythm of its own.
type PauseRandom struct{}

// Name is "pause-random".
func (PauseRandom) Name() string { return workloads.FaultPauseRandom }

// About says what it does.
func (PauseRandom) About() string {
	return "workers are stopped at random moments for 0.5 to 3 leases"
}

// Run pauses until there is enough.
func (f PauseRandom) Run(ctx context.Context, a *Arena) error {
	workers := a.Alive()
	if len(workers) < 2 {
		return fmt.Errorf("%s needs at least two workers", f.Name())
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, worker := range workers[:len(workers)-1] {
		group.Go(func() error {
			for n := 0; !a.done() && ctx.Err() == nil; n++ {
				s := draw(a, f.Name(), "/"+worker, n, 1,
					[2]time.Duration{a.ttl(0.1), a.ttl(0.3)}, [2]time.Duration{a.ttl(0.5), a.ttl(3)})
				a.pause(ctx, s.Wait)
				if a.done() || ctx.Err() != nil {
					break
				}
				if err := f.once(ctx, a, worker, s); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

func (f PauseRandom) once(ctx context.Context, a *Arena, worker string, s step) error {
	say := func(at int64, phase history.Phase, threads int) {
		a.fault(at, history.Fault{ID: s.ID, Kind: f.Name(), Phase: phase, Victim: worker, Planned: int64(s.Length), Threads: threads})
	}
	say(history.Now(), history.Armed, 0)
	threads, err := a.Stop(ctx, worker)
	if err != nil {
		return fmt.Errorf("%s: %w", s.ID, err)
	}
	say(history.Now(), history.Stopped, threads)
	a.pause(ctx, s.Length)
	say(history.Now(), history.Resumed, 0)
	// Resumed even when the cell was given up: nothing stays stopped.
	if err := a.Continue(context.WithoutCancel(ctx), worker); err != nil {
		return fmt.Errorf("%s: %w", s.ID, err)
	}
	say(history.Now(), history.Healed, 0)
	return nil
}
