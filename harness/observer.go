package harness

import (
	"context"
	"fmt"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// observer reads all rows again and again, in one statement each, and is never
// stopped: what it sees shows when a write took effect, also an unknown one.
type observer struct {
	store  *store
	record func(history.Event)
	every  time.Duration
	n      int
}

// watch reads until ctx ends.
func (o *observer) watch(ctx context.Context) error {
	tick := time.NewTicker(o.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		// A read that has begun is finished: it has been recorded as invoked.
		if err := o.read(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
}

// read is one read of all rows. The last one of a cell is its final read.
func (o *observer) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	o.n++
	id := fmt.Sprintf("obs-%d", o.n)
	o.record(history.Event{Type: history.TypeInvoke, Time: history.Now(), Op: id, Process: history.Observer, Client: history.Observer, Kind: history.Read})
	seen, err := o.store.seen(ctx)
	done := history.Event{Type: history.TypeComplete, Time: history.Now(), Op: id, Outcome: history.OK, Seen: seen}
	if err == nil && len(seen) != len(o.store.resources) {
		err = fmt.Errorf("%w: %d of %d are there", errNoRows, len(seen), len(o.store.resources))
	}
	if err != nil {
		done.Outcome, done.Error, done.Seen = history.Fail, err.Error(), nil
	}
	o.record(done)
	if err != nil {
		return fmt.Errorf("observer: %w", err)
	}
	return nil
}
