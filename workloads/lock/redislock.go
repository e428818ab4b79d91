package lock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/outcome"
)

// Redislock is the lock of the library redislock
// (https://github.com/bsm/redislock): its Obtain without its retries, in our
// loop. The lease is counted from the call of the library.
type Redislock struct {
	client *redis.Client
	locks  *redislock.Client
	ttl    time.Duration
	jitter *Jitter

	mu   sync.Mutex
	held map[string]*redislock.Lock // by value
}

// NewRedislock connects lazily.
func NewRedislock(s Server, ttl, patience time.Duration, clients int, jitter *Jitter) *Redislock {
	c := dial(s, clients, patience)
	return &Redislock{client: c, locks: redislock.New(c), ttl: ttl, jitter: jitter, held: map[string]*redislock.Lock{}}
}

// Wait is one poll interval after a failed attempt.
func (l *Redislock) Wait(ctx context.Context, _ string, again bool) error {
	if !again {
		return ctx.Err()
	}
	return Pause(ctx, l.jitter.Around(l.ttl/20))
}

// Acquire is one Obtain.
func (l *Redislock) Acquire(ctx context.Context, key string, sent func(int64)) (Lease, error) {
	lease := Lease{Key: key, Value: newValue(), TTL: l.ttl, Start: history.Now()}
	sent(lease.Start)
	got, err := l.locks.Obtain(ctx, key, l.ttl, &redislock.Options{Token: lease.Value})
	switch {
	case err == nil:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.held[lease.Value] = got
		return lease, nil
	case errors.Is(err, redislock.ErrNotObtained):
		return Lease{}, ErrHeld
	default:
		// One request of the answer unknown is undone, as our own locker does it.
		undoing, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.ttl)
		defer cancel()
		if outcome.Redis(err) == history.Info {
			_, _ = deleteOurs(undoing, l.client, key, lease.Value)
		}
		return Lease{}, answered("obtain", false, err)
	}
}

// lock is the library's, nil if this process does not hold it.
func (l *Redislock) lock(lease Lease) *redislock.Lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[lease.Value]
}

// Release is the library's Release.
func (l *Redislock) Release(ctx context.Context, lease Lease) error {
	err := l.lock(lease).Release(ctx)
	if errors.Is(err, redislock.ErrLockNotHeld) {
		err = ErrLost
	} else {
		err = answered("release", true, err)
	}
	if err == nil || errors.Is(err, ErrLost) {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.held, lease.Value)
	}
	return err
}

// Check asks how much of the lease is left, which is the library's way to ask
// whether the lock is still ours.
func (l *Redislock) Check(ctx context.Context, lease Lease) error {
	held := l.lock(lease)
	if held == nil {
		return ErrLost
	}
	left, err := held.TTL(ctx)
	return answered("check", left > 0, err)
}

// Renew is the library's Refresh.
func (l *Redislock) Renew(ctx context.Context, lease Lease) (Lease, error) {
	held := l.lock(lease)
	if held == nil {
		return lease, ErrLost
	}
	start := history.Now()
	err := held.Refresh(ctx, l.ttl, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return lease, ErrLost
	}
	if err := answered("renew", true, err); err != nil {
		return lease, err
	}
	lease.Start, lease.TTL = start, l.ttl
	return lease, nil
}

// Close closes the connections.
func (l *Redislock) Close() error { return l.client.Close() }
