package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/torture-harness/torture/harness/history"
)

// Redlock is the lock of several independent Redis masters
// (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/):
// held once a majority said yes and time is left after subtracting what the
// acquisition took and the drift of the clocks. It has no token.
type Redlock struct {
	nodes   []*redis.Client
	ttl     time.Duration
	perNode time.Duration
	jitter  *Jitter
}

// NewRedlock connects lazily. Each node gets TTL/10 to answer, so that one that
// is silent costs a small part of the lease.
func NewRedlock(servers []Server, ttl, patience time.Duration, clients int, jitter *Jitter) *Redlock {
	l := &Redlock{ttl: ttl, perNode: ttl / 10, jitter: jitter}
	for _, s := range servers {
		l.nodes = append(l.nodes, dial(s, clients, patience))
	}
	return l
}

// Drift is what clocks of client and nodes may gain on each other within one
// lease: 1 % of it and 2 ms for the precision of Redis' expiry.
func (l *Redlock) Drift() time.Duration { return l.ttl/100 + 2*time.Millisecond }

// Wait asks one node, every TTL/20 ± 50 %, until the key is gone there. One node
// proves nothing, but asking five each time would only add load. After a failed
// attempt it sleeps first: the random delay that lets one of several win.
func (l *Redlock) Wait(ctx context.Context, key string, again bool) error {
	for ; ; again = true {
		if again {
			if err := Pause(ctx, l.jitter.Around(l.ttl/20)); err != nil {
				return err
			}
		}
		node := l.nodes[l.jitter.Pick(len(l.nodes))]
		asked, cancel := context.WithTimeout(ctx, l.perNode)
		n, err := node.Exists(asked, key).Result()
		cancel()
		if err != nil || n == 0 {
			return ctx.Err()
		}
	}
}

// Acquire asks all nodes at once with a fresh value. Without a majority, or
// with no time left, everything is released before it returns.
func (l *Redlock) Acquire(ctx context.Context, key string, sent func(int64)) (Lease, error) {
	lease := Lease{Key: key, Value: newValue(), TTL: l.ttl, Start: history.Now()}
	sent(lease.Start)
	type answer struct {
		took bool
		err  error
	}
	answers := make(chan answer, len(l.nodes))
	for _, node := range l.nodes {
		go func() {
			asked, cancel := context.WithTimeout(ctx, l.perNode)
			defer cancel()
			took, err := setNX(asked, node, key, lease.Value, l.ttl)
			answers <- answer{took, err}
		}()
	}
	yes, held := 0, 0
	var failed error
	for range l.nodes {
		switch a := <-answers; {
		case a.took:
			yes++
		case a.err == nil:
			held++
		default:
			failed = a.err
		}
	}
	// The second reading of the clock is what makes Redlock safe against a pause
	// during the acquisition.
	elapsed := time.Duration(history.Now() - lease.Start)
	validity := l.ttl - elapsed - l.Drift()
	if yes >= l.quorum() && validity > 0 {
		return lease, nil
	}
	// Awaited, so that it cannot hit our own next attempt; and on every node, for
	// one that did not answer may have taken the key all the same.
	_, _ = l.releaseAll(context.WithoutCancel(ctx), lease)
	switch {
	case yes >= l.quorum():
		return Lease{}, fmt.Errorf("redlock: a majority said yes, but after %s nothing is left of the lease", elapsed.Round(time.Millisecond))
	case held > 0 || failed == nil:
		return Lease{}, ErrHeld
	default:
		return Lease{}, fmt.Errorf("redlock: %d of %d nodes said yes: %w", yes, len(l.nodes), failed)
	}
}

func (l *Redlock) quorum() int { return len(l.nodes)/2 + 1 }

// Release compares and deletes on every node. The lock is given back if a
// majority held it until then, and was lost if a majority can not have.
func (l *Redlock) Release(ctx context.Context, lease Lease) error {
	deleted, absent := l.releaseAll(ctx, lease)
	switch {
	case deleted >= l.quorum():
		return nil
	case absent > len(l.nodes)-l.quorum():
		return ErrLost
	default:
		return Unknown{errors.New("redlock: too few nodes answered the release")}
	}
}

// releaseAll returns how many nodes deleted the key, and how many said that it
// was not ours. What is on the others is not known: one that cannot be reached
// may have it still.
func (l *Redlock) releaseAll(ctx context.Context, lease Lease) (deleted, absent int) {
	type answer struct {
		n   int
		err error
	}
	answers := make(chan answer, len(l.nodes))
	for _, node := range l.nodes {
		go func() {
			asked, cancel := context.WithTimeout(ctx, l.perNode)
			defer cancel()
			n, err := compareAndDelete.Run(asked, node, []string{lease.Key}, lease.Value).Int()
			answers <- answer{n, err}
		}()
	}
	for range l.nodes {
		switch a := <-answers; {
		case a.err != nil:
		case a.n > 0:
			deleted++
		default:
			absent++
		}
	}
	return deleted, absent
}

// Close closes the connections.
func (l *Redlock) Close() error {
	var errs []error
	for _, node := range l.nodes {
		errs = append(errs, node.Close())
	}
	return errors.Join(errs...)
}
