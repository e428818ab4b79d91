package nemesis

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

// DelayWrite holds writes in the network. The clients of a worker have just done
// the last thing before their write (checked their lock, if they do that), send
// it while their lease still lasts, and it hangs until others have taken over.
// Then it arrives. No process is stopped, and each client has done all it could.
type DelayWrite struct{}

// Name is "delay-write".
func (DelayWrite) Name() string { return workloads.FaultDelayWrite }

// About says what it does.
func (DelayWrite) About() string {
	return "writes hang in the network until others have taken over"
}

// sendFor is how long, in leases, the clients that were gathered may take to
// send their writes.
const sendFor = 0.5

// Run delays until there is enough.
func (f DelayWrite) Run(ctx context.Context, a *Arena) error {
	if a.Wire == nil {
		return fmt.Errorf("%s needs a proxy in front of the store", f.Name())
	}
	return eachAim(ctx, a, f, workloads.InFlight, f.once)
}

func (DelayWrite) once(ctx context.Context, d *aim) error {
	defer d.Listen(d.log.add)()
	defer d.Wire.Release(d.victim) // whatever happened, nothing stays held
	defer d.letGo()

	written, held := d.orders(d.Resources)
	d.say(history.Now(), history.Fault{Phase: history.Armed, Written: written, Held: held})
	gathered, err := d.gather(ctx)
	if err != nil || len(gathered) == 0 {
		d.say(history.Now(), history.Fault{Phase: history.Failed, Detail: "no holder came by"})
		return err
	}
	d.Wire.Hold(d.victim, gathered)
	// Those who came after the decision go on unhindered.
	if err := d.Disarm(d.victim); err != nil {
		return err
	}
	if err := d.Go(d.victim, nil); err != nil {
		return err
	}
	sending, cancel := context.WithTimeout(ctx, d.ttl(sendFor))
	bytes := d.Wire.AwaitHeld(sending, d.victim, gathered)
	cancel()
	from := history.Now()
	if len(bytes) == 0 || ctx.Err() != nil {
		d.say(from, history.Fault{Phase: history.Failed, Detail: "nobody sent a write"})
		return ctx.Err()
	}
	written, held = d.orders(slices.Collect(maps.Keys(bytes)))
	d.say(from, history.Fault{Phase: history.Held, Detail: inFlight(bytes), Bytes: bytes, Written: written, Held: held})
	if err := d.armHeld(held); err != nil {
		return err
	}
	detail := d.awaitTakeover(ctx, from, written, held)

	bytes = d.Wire.Held(d.victim)
	to := history.Now()
	d.say(to, history.Fault{Phase: history.Released, Detail: detail, Bytes: bytes, Written: written, Held: held})
	d.Wire.Release(d.victim)
	d.settle(ctx, slices.Collect(maps.Keys(bytes)), held, func(r string) bool { return d.log.answeredAfter(r, d.victim, to) })
	d.say(history.Now(), history.Fault{Phase: history.Healed})
	return nil
}

func inFlight(bytes map[string]int) string {
	total := 0
	for _, n := range bytes {
		total += n
	}
	return fmt.Sprintf("%d requests with %d bytes held", len(bytes), total)
}
