package nemesis

import (
	"context"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

// PauseHolder stops a worker whose clients hold their locks and are about to
// write, and lets it go on only when others have taken over. Of the resources
// caught in one pause, half take the order "the new holder has written before
// the old one resumes" (C9), half "the new holder has read but not written" (C36).
type PauseHolder struct{}

// Name is "pause-holder".
func (PauseHolder) Name() string { return workloads.FaultPauseHolder }

// About says what it does.
func (PauseHolder) About() string {
	return "lock holders are stopped just before their write until others have taken over"
}

// Run pauses until there is enough.
func (f PauseHolder) Run(ctx context.Context, a *Arena) error {
	return eachAim(ctx, a, f, a.Point, f.once)
}

func (PauseHolder) once(ctx context.Context, p *aim) (err error) {
	defer p.Listen(p.log.add)()
	stopped := false
	defer func() { // whatever happened, nobody stays stopped or held
		p.letGo()
		if stopped {
			_ = p.Continue(context.WithoutCancel(ctx), p.victim)
		}
	}()

	written, held := p.orders(p.Resources)
	p.say(history.Now(), history.Fault{Phase: history.Armed, Written: written, Held: held})
	gathered, err := p.gather(ctx)
	if err != nil || len(gathered) == 0 {
		p.say(history.Now(), history.Fault{Phase: history.Failed, Detail: "no holder came by"})
		return err
	}
	threads, err := p.Stop(ctx, p.victim)
	if err != nil {
		return err
	}
	stopped = true
	from := history.Now()
	gathered = p.log.arrivedAt(p.victim, p.Point) // also who came between the decision and the stop
	written, held = p.orders(gathered)
	p.say(from, history.Fault{Phase: history.Stopped, Threads: threads, Written: written, Held: held})
	if err := p.armHeld(held); err != nil {
		return err
	}
	detail := p.awaitTakeover(ctx, from, written, held)

	// In its pipe before it runs, so that it goes on at once.
	if err := p.Disarm(p.victim); err != nil {
		return err
	}
	if err := p.Go(p.victim, nil); err != nil {
		return err
	}
	p.say(history.Now(), history.Fault{Phase: history.Resumed, Detail: detail, Written: written, Held: held})
	if err := p.Continue(context.WithoutCancel(ctx), p.victim); err != nil {
		return err
	}
	stopped = false
	p.settle(ctx, gathered, held, func(r string) bool { return p.log.writeAfter(r, p.victim, from) })
	p.say(history.Now(), history.Fault{Phase: history.Healed})
	return nil
}
