package lock

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Jitter spreads waiters: random choices drawn from a seed, usable by many
// clients at once.
type Jitter struct {
	mu  sync.Mutex
	rng *rand.Rand
}

// NewJitter draws from seed.
func NewJitter(seed, stream uint64) *Jitter {
	return &Jitter{rng: rand.New(rand.NewPCG(seed, stream))}
}

// Around is d ± half of it.
func (j *Jitter) Around(d time.Duration) time.Duration {
	return d/2 + j.UpTo(d)
}

// UpTo is uniform in [0, d).
func (j *Jitter) UpTo(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return time.Duration(j.rng.Int64N(int64(d)))
}

// Pick is uniform in [0, n).
func (j *Jitter) Pick(n int) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rng.IntN(n)
}

// Pause waits for d or the end of ctx.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
