package nemesis

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

const (
	gatherFor = 0.25 // of the lease: how long the first to arrive waits for others
	holdFor   = 0.5  // of the lease: how long a new holder waits for the old one's write
	pauseMost = 3.0  // leases
)

// aim is one fault aimed at the clients of one worker that hold their locks and
// are about to write, and the two orders in which others take over meanwhile:
// of the resources caught, half take the order "the new holder has written
// before the old one's write arrives" (C9), half "the new holder has read but
// not written" (C36).
type aim struct {
	*Arena
	kind   string
	at     string // the breakpoint that the history shows
	step   step
	victim string
	others []string
	log    *log
}

func newAim(a *Arena, kind, at string, s step, victim string, workers []string) *aim {
	return &aim{Arena: a, kind: kind, at: at, step: s, victim: victim, log: newLog(),
		others: slices.DeleteFunc(slices.Clone(workers), func(w string) bool { return w == victim })}
}

// eachAim does one aimed fault after the other until there is enough. The last
// worker is never a victim.
func eachAim(ctx context.Context, a *Arena, f Fault, at string, run func(context.Context, *aim) error) error {
	workers := a.Alive()
	if len(workers) < 2 {
		return fmt.Errorf("%s needs at least two workers", f.Name())
	}
	mortal := workers[:len(workers)-1]
	for n := 0; !a.done() && ctx.Err() == nil; n++ {
		s := draw(a, f.Name(), "", n, len(mortal), [2]time.Duration{a.ttl(0.02), a.ttl(0.1)}, [2]time.Duration{})
		if err := run(ctx, newAim(a, f.Name(), at, s, mortal[s.Victim], workers)); err != nil {
			return fmt.Errorf("%s: %w", s.ID, err)
		}
		if !a.done() {
			a.pause(ctx, s.Wait)
		}
	}
	return ctx.Err()
}

// letGo disarms everything and lets everybody go on.
func (p *aim) letGo() {
	for _, w := range p.others {
		_ = p.Disarm(w)
		_ = p.Go(w, nil)
	}
	_ = p.Disarm(p.victim)
	_ = p.Go(p.victim, nil)
}

func (p *aim) say(at int64, f history.Fault) {
	f.ID, f.Kind, f.Victim, f.Point = p.step.ID, p.kind, p.victim, p.at
	p.fault(at, f)
}

// armHeld makes new holders of these resources wait. Nobody else can have the
// locks yet.
func (p *aim) armHeld(held []string) error {
	for _, w := range p.others {
		if len(held) == 0 {
			break
		}
		if err := p.Arm(w, p.Point, held); err != nil {
			return err
		}
	}
	return nil
}

// orders divides resources by the coins of the seed.
func (p *aim) orders(of []string) (written, held []string) {
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
func (p *aim) gather(ctx context.Context) ([]string, error) {
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
func (p *aim) awaitTakeover(ctx context.Context, from int64, written, held []string) string {
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
func (p *aim) settle(ctx context.Context, gathered, held []string, answered func(resource string) bool) {
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
