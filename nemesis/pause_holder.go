package nemesis

import (
	"context"
	"fmt"
	"slices"
	"time"

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

const (
	gatherFor = 0.25 // of the lease: how long the first to arrive waits for others
	holdFor   = 0.5  // of the lease: how long a new holder waits for the old one's write
	pauseMost = 3.0  // leases
)

// Run pauses until there is enough.
func (f PauseHolder) Run(ctx context.Context, a *Arena) error {
	workers := a.Alive()
	if len(workers) < 2 {
		return fmt.Errorf("%s needs at least two workers", f.Name())
	}
	mortal := workers[:len(workers)-1]
	for n := 0; !a.done() && ctx.Err() == nil; n++ {
		s := draw(a, f.Name(), "", n, len(mortal), [2]time.Duration{a.ttl(0.02), a.ttl(0.1)}, [2]time.Duration{})
		p := newAimedPause(a, f.Name(), s, mortal[s.Victim], workers)
		if err := p.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.ID, err)
		}
		if !a.done() {
			a.pause(ctx, s.Wait)
		}
	}
	return ctx.Err()
}

// aimedPause is one pause of PauseHolder.
type aimedPause struct {
	*Arena
	kind   string
	step   step
	victim string
	others []string
	log    *log
}

func newAimedPause(a *Arena, kind string, s step, victim string, workers []string) *aimedPause {
	return &aimedPause{Arena: a, kind: kind, step: s, victim: victim, log: newLog(),
		others: slices.DeleteFunc(slices.Clone(workers), func(w string) bool { return w == victim })}
}

func (p *aimedPause) run(ctx context.Context) (err error) {
	defer p.Listen(p.log.add)()
	stopped := false
	defer func() { // whatever happened, nobody stays stopped or held
		clean := context.WithoutCancel(ctx)
		for _, w := range p.others {
			_ = p.Disarm(w)
			_ = p.Go(w, nil)
		}
		_ = p.Disarm(p.victim)
		_ = p.Go(p.victim, nil)
		if stopped {
			_ = p.Continue(clean, p.victim)
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
	// Nobody else can have these locks yet.
	for _, w := range p.others {
		if len(held) == 0 {
			break
		}
		if err := p.Arm(w, p.Point, held); err != nil {
			return err
		}
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
	p.settle(ctx, from, gathered, held)
	p.say(history.Now(), history.Fault{Phase: history.Healed})
	return nil
}

func (p *aimedPause) say(at int64, f history.Fault) {
	f.ID, f.Kind, f.Victim, f.Point = p.step.ID, p.kind, p.victim, p.Point
	p.fault(at, f)
}

// orders divides resources by the coins of the seed.
func (p *aimedPause) orders(of []string) (written, held []string) {
	for i, r := range p.Resources {
		switch {
		case !slices.Contains(of, r):
		case p.step.Coins[i]:
			written = append(written, r)
		default:
			held = append(held, r)
		}
	}
	return written, held
}

// gather arms the victim and returns when it holds all resources, or some time
// after the first.
func (p *aimedPause) gather(ctx context.Context) ([]string, error) {
	if err := p.Arm(p.victim, p.Point, nil); err != nil {
		return nil, err
	}
	here := func() []string { return p.log.arrivedAt(p.victim, p.Point) }
	p.log.await(ctx, p.ttl(pauseMost), func() bool { return len(here()) > 0 })
	if len(here()) == 0 {
		return nil, ctx.Err()
	}
	p.log.await(ctx, p.ttl(gatherFor), func() bool { return len(here()) == len(p.Resources) })
	return here(), ctx.Err()
}

// awaitTakeover returns when every resource has met its order, when the first
// of the new holders must not be held any longer, or after the longest pause.
func (p *aimedPause) awaitTakeover(ctx context.Context, from int64, written, held []string) string {
	wrote := func() int {
		return count(written, func(r string) bool { return p.log.newerWrite(r, p.victim, from) > 0 })
	}
	reads := func() int {
		return count(held, func(r string) bool { return p.log.heldSince(r, p.victim, p.Point) > 0 })
	}
	overdue := func() bool {
		for _, r := range held {
			if since := p.log.heldSince(r, p.victim, p.Point); since > 0 && history.Now()-since > int64(p.ttl(holdFor)) {
				return wrote()+reads() > 0
			}
		}
		return false
	}
	all := p.log.await(ctx, p.ttl(pauseMost), func() bool {
		return wrote() == len(written) && reads() == len(held) || overdue()
	})
	switch {
	case wrote()+reads() == 0:
		return "no handover"
	case !all:
		return fmt.Sprintf("the longest pause has passed; %d of %d written, %d of %d read", wrote(), len(written), reads(), len(held))
	default:
		return fmt.Sprintf("%d of %d written, %d of %d read", wrote(), len(written), reads(), len(held))
	}
}

// settle lets each new holder that was held go on once the old one's write has
// been answered or given up, and returns when all have.
func (p *aimedPause) settle(ctx context.Context, from int64, gathered, held []string) {
	answered := func(r string) bool { return p.log.writeAfter(r, p.victim, from) }
	freed := map[string]bool{}
	p.log.await(ctx, p.ttl(holdFor), func() bool {
		for _, r := range held {
			if !freed[r] && answered(r) {
				freed[r] = true
				for _, w := range p.others {
					_ = p.Go(w, []string{r}) // a worker that is gone is noticed by its supervisor
				}
			}
		}
		return count(gathered, answered) == len(gathered)
	})
}

func count(resources []string, is func(string) bool) int {
	n := 0
	for _, r := range resources {
		if is(r) {
			n++
		}
	}
	return n
}
