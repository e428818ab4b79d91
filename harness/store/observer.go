package store

import (
	"context"
	"fmt"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// Observer reads all rows again and again, in one statement each, and is never
// stopped: what it sees shows when a write took effect, also an unknown one.
type Observer struct {
	store  *Store
	record func(history.Event)
	every  time.Duration
	rows   int // there were at the beginning
	n      int
	// Patient: the server may be away for a while; reads that fail are recorded
	// as such, and tried again.
	Patient bool
}

// Observe opens a second connection to the rows of a cell. record keeps what it
// sees; every is the time between two reads.
func (s *Store) Observe(ctx context.Context, record func(history.Event), every time.Duration) (*Observer, error) {
	second, err := openSecond(ctx, s.dsn, s.schema, s.resources)
	if err != nil {
		return nil, err
	}
	second.etcd = s.etcd // one client serves both
	first, err := second.seen(ctx)
	if err != nil {
		second.Close()
		return nil, fmt.Errorf("observer: %w", err)
	}
	return &Observer{store: second, record: record, every: every, rows: len(first)}, nil
}

// Close ends the connection.
func (o *Observer) Close() {
	o.store.etcd = nil // not ours
	o.store.Close()
}

// Watch reads until ctx ends.
func (o *Observer) Watch(ctx context.Context) error {
	tick := time.NewTicker(o.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		// A read that has begun is finished: it has been recorded as invoked.
		if err := o.Read(context.WithoutCancel(ctx)); err != nil && !o.Patient {
			return err
		}
	}
}

// patience is how long a read may take: longer than the server is ever stopped,
// which is a few leases, and a lease is 40 times as long as the time between two
// reads.
func (o *Observer) patience() time.Duration { return max(30*time.Second, 10*40*o.every) }

// Read is one read of all rows. The last one of a cell is its final read. Where
// there were no rows from the beginning there is nothing to read.
func (o *Observer) Read(ctx context.Context) error {
	if o.rows == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.patience())
	defer cancel()
	o.n++
	id := fmt.Sprintf("obs-%d", o.n)
	o.record(history.Event{Type: history.TypeInvoke, Time: history.Now(), Op: id, Process: history.Observer, Client: history.Observer, Kind: history.Read})
	seen, err := o.store.seen(ctx)
	done := history.Event{Type: history.TypeComplete, Time: history.Now(), Op: id, Outcome: history.OK, Seen: seen}
	if err == nil && len(seen) != o.rows {
		err = fmt.Errorf("%w: %d of %d are there", errNoRows, len(seen), o.rows)
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
