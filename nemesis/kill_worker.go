package nemesis

import (
	"context"
	"fmt"
	"time"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

// KillWorker kills a worker (-9) at random moments and puts a new one in its
// place. The first worker is never killed.
type KillWorker struct{}

// Name is "kill-worker".
func (KillWorker) Name() string { return workloads.FaultKillWorker }

// About says what it does.
func (KillWorker) About() string {
	return "workers are killed (-9) at random moments and replaced"
}

// Run kills until there is enough.
func (f KillWorker) Run(ctx context.Context, a *Arena) error {
	for n := 0; ; n++ {
		workers := a.Alive()
		if len(workers) < 2 {
			return fmt.Errorf("%s needs at least two workers", f.Name())
		}
		mortal := workers[1:]
		s := draw(a, f.Name(), "", n, len(mortal), [2]time.Duration{a.ttl(0.3), a.ttl(1)}, [2]time.Duration{})
		a.pause(ctx, s.Wait)
		if a.done() || ctx.Err() != nil {
			return ctx.Err()
		}
		victim := mortal[s.Victim]
		say := func(phase history.Phase, detail string) {
			a.fault(history.Now(), history.Fault{ID: s.ID, Kind: f.Name(), Phase: phase, Victim: victim, Detail: detail})
		}
		say(history.Armed, "")
		if err := a.Kill(ctx, victim); err != nil {
			return fmt.Errorf("%s: %w", s.ID, err)
		}
		say(history.Killed, "")
		name, err := a.Replace(ctx)
		if err != nil {
			return fmt.Errorf("%s: replace %s: %w", s.ID, victim, err)
		}
		say(history.Healed, "replaced by "+name)
	}
}
