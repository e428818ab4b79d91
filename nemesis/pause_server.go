package nemesis

import (
	"context"
	"fmt"
	"time"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

// PauseServer stops one server at a time, as a stop-the-world pause of its
// machine would: one of the Redis masters, the leader of etcd, PostgreSQL,
// whatever the strategy stands on, all kinds equally often. Nothing is lost, and
// what clients send meanwhile is executed when it goes on.
type PauseServer struct{}

// Name is "pause-server".
func (PauseServer) Name() string { return workloads.FaultPauseServer }

// About says what it does.
func (PauseServer) About() string {
	return "servers are stopped one at a time, for 0.5 to 2 leases"
}

// Run pauses until there is enough.
func (f PauseServer) Run(ctx context.Context, a *Arena) error {
	if a.Servers == nil || len(a.Servers.Kinds()) == 0 {
		return fmt.Errorf("%s needs servers that it may stop", f.Name())
	}
	kinds := a.Servers.Kinds()
	for n := 0; !a.done() && ctx.Err() == nil; n++ {
		s := draw(a, f.Name(), "", n, anyServer, [2]time.Duration{a.ttl(0.3), a.ttl(1)}, [2]time.Duration{a.ttl(0.5), a.ttl(2)})
		kind := kinds[inTurn(a, f.Name(), n, len(kinds))]
		a.pause(ctx, s.Wait)
		if a.done() || ctx.Err() != nil {
			break
		}
		if err := f.once(ctx, a, kind, s); err != nil {
			return fmt.Errorf("%s: %w", s.ID, err)
		}
	}
	return ctx.Err()
}

// anyServer is a number that 1 to 5 divide, so that each of so many servers is
// drawn equally often.
const anyServer = 60

func (f PauseServer) once(ctx context.Context, a *Arena, kind string, s step) error {
	server, err := a.Servers.Pick(ctx, kind, s.Victim)
	if err != nil {
		return err
	}
	say := func(phase history.Phase) {
		a.Record(history.Event{Type: history.TypeFault, Time: history.Now(),
			Fault: &history.Fault{ID: s.ID, Kind: f.Name(), Phase: phase, Victim: server, Planned: int64(s.Length)}})
	}
	say(history.Armed)
	if err := a.Servers.Stop(ctx, server); err != nil {
		return err
	}
	say(history.Stopped)
	a.pause(ctx, s.Length)
	say(history.Resumed)
	// Also when the cell was given up: nothing stays stopped.
	if err := a.Servers.Continue(context.WithoutCancel(ctx), server); err != nil {
		return err
	}
	say(history.Healed)
	return nil
}
