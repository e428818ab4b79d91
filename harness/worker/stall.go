package worker

import (
	"context"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

const (
	stallTick = 10 * time.Millisecond
	stallGap  = 100 * time.Millisecond // a gap longer than this is written down
)

// WatchStalls records the times in which this process did not run, planned or
// not, by the gaps of a ticker.
func WatchStalls(ctx context.Context, name string, record func(history.Event)) {
	tick := time.NewTicker(stallTick)
	defer tick.Stop()
	last := history.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := history.Now()
		if gap := now - last; gap > int64(stallGap) {
			record(history.Event{Type: history.TypeStall, Time: now, Worker: name, Gap: gap})
		}
		last = now
	}
}
