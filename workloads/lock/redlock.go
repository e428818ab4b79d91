package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
	quorum  int
	late    bool // a late reply is taken for a valid lock
	sparing bool // a failed attempt is released only where "yes" was read
	steady  bool // clocks are taken to run alike
	jitter  *Jitter
}

// RedlockOption changes a part of the algorithm.
type RedlockOption func(*Redlock)

// PerNode is how long a node may take to answer; 0 keeps TTL/10. A node that is
// silent costs so much of the lease, so a long one defeats the purpose.
func PerNode(d time.Duration) RedlockOption {
	return func(l *Redlock) {
		if d > 0 {
			l.perNode = d
		}
	}
}

// PerNodeLeases is PerNode as a multiple of the lease.
func PerNodeLeases(n int) RedlockOption {
	return func(l *Redlock) { l.perNode = time.Duration(n) * l.ttl }
}

// Quorum is how many nodes must say yes; fewer than a majority is no lock.
func Quorum(n int) RedlockOption { return func(l *Redlock) { l.quorum = n } }

// TrustLateReplies leaves out the second reading of the clock: a majority that
// answered after the lease had ended is taken for a valid lock.
func TrustLateReplies() RedlockOption { return func(l *Redlock) { l.late = true } }

// WithoutDrift takes all clocks to run alike: nothing is subtracted for them.
// Broken on purpose.
func WithoutDrift() RedlockOption { return func(l *Redlock) { l.steady = true } }

// ReleasedWhereTaken releases a failed attempt only on the nodes whose "yes" was
// read. Where it was lost the key stays for its whole lease. Broken on purpose.
func ReleasedWhereTaken() RedlockOption { return func(l *Redlock) { l.sparing = true } }

// NewRedlock connects lazily. Each node gets TTL/10 to answer, so that one that
// is silent costs a small part of the lease.
func NewRedlock(servers []Server, ttl, patience time.Duration, clients int, jitter *Jitter, options ...RedlockOption) *Redlock {
	l := &Redlock{ttl: ttl, perNode: ttl / 10, quorum: len(servers)/2 + 1, jitter: jitter}
	for _, s := range servers {
		l.nodes = append(l.nodes, dial(s, clients, patience))
	}
	for _, o := range options {
		o(l)
	}
	return l
}

// Drift is what clocks of client and nodes may gain on each other within one
// lease: 1 % of it and 2 ms for the precision of Redis' expiry.
func (l *Redlock) Drift() time.Duration {
	if l.steady {
		return 0
	}
	return l.ttl/100 + 2*time.Millisecond
}

// Wait asks one node, every TTL/20 ± 50 %, until the key is gone there. One node
// proves nothing, but asking five each time would only add load. After a failed
// attempt it sleeps first: the random delay that lets one of several win.
func (l *Redlock) Wait(ctx context.Context, key string, again bool) error {
	return awaitOnOne(ctx, l.nodes, key, again, l.ttl, l.jitter)
}

func awaitOnOne(ctx context.Context, nodes []*redis.Client, key string, again bool, ttl time.Duration, jitter *Jitter) error {
	for ; ; again = true {
		if again {
			if err := Pause(ctx, jitter.Around(ttl/20)); err != nil {
				return err
			}
		}
		node := nodes[jitter.Pick(len(nodes))]
		asked, cancel := context.WithTimeout(ctx, ttl/10)
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
	var taken sync.Map // the nodes whose "yes" was read
	yes, held, failed := l.ask(ctx, func(ctx context.Context, node *redis.Client) (bool, error) {
		took, err := setNX(ctx, node, key, lease.Value, l.ttl)
		if took {
			taken.Store(node, true)
		}
		return took, err
	})
	// The second reading of the clock is what makes Redlock safe against a pause
	// during the acquisition.
	elapsed := time.Duration(history.Now() - lease.Start)
	validity := l.ttl - elapsed - l.Drift()
	if yes >= l.quorum && (validity > 0 || l.late) {
		return lease, nil
	}
	// Awaited, so that it cannot hit our own next attempt; and on every node, for
	// one that did not answer may have taken the key all the same.
	_, _, _ = l.ask(context.WithoutCancel(ctx), func(ctx context.Context, node *redis.Client) (bool, error) {
		if _, read := taken.Load(node); l.sparing && !read {
			return false, nil
		}
		return deleteOurs(ctx, node, lease.Key, lease.Value)
	})
	switch {
	case yes >= l.quorum:
		return Lease{}, fmt.Errorf("redlock: a majority said yes, but after %s nothing is left of the lease", elapsed.Round(time.Millisecond))
	case held > 0 || failed == nil:
		return Lease{}, ErrHeld
	default:
		return Lease{}, fmt.Errorf("redlock: %d of %d nodes said yes: %w", yes, len(l.nodes), failed)
	}
}

// Release compares and deletes on every node. The lock is given back if a
// majority held it until then, and was lost if a majority can not have.
func (l *Redlock) Release(ctx context.Context, lease Lease) error {
	// What is on the others is not known: one that cannot be reached may have it
	// still.
	deleted, absent, _ := l.ask(ctx, func(ctx context.Context, node *redis.Client) (bool, error) {
		return deleteOurs(ctx, node, lease.Key, lease.Value)
	})
	return l.majority("release", deleted, absent)
}

// ask puts a question to all nodes at once. It returns how many said yes, how
// many no, and one of the errors of the others.
func (l *Redlock) ask(ctx context.Context, question func(context.Context, *redis.Client) (bool, error)) (yes, no int, failed error) {
	type answer struct {
		yes bool
		err error
	}
	answers := make(chan answer, len(l.nodes))
	for _, node := range l.nodes {
		go func() {
			asked, cancel := context.WithTimeout(ctx, l.perNode)
			defer cancel()
			said, err := question(asked, node)
			answers <- answer{said, err}
		}()
	}
	for range l.nodes {
		switch a := <-answers; {
		case a.err != nil:
			failed = a.err
		case a.yes:
			yes++
		default:
			no++
		}
	}
	return yes, no, failed
}

// Check asks all nodes whether the key has our value: still ours if a majority
// says so, lost if a majority cannot.
func (l *Redlock) Check(ctx context.Context, lease Lease) error {
	yes, no, _ := l.ask(ctx, func(ctx context.Context, node *redis.Client) (bool, error) {
		value, err := node.Get(ctx, lease.Key).Result()
		if errors.Is(err, redis.Nil) {
			return false, nil
		}
		return value == lease.Value, err
	})
	return l.majority("check", yes, no)
}

// Renew sets the expiry afresh on every node that still has our value; the
// lease is prolonged if that is a majority and time is left.
func (l *Redlock) Renew(ctx context.Context, lease Lease) (Lease, error) {
	start := history.Now()
	yes, no, _ := l.ask(ctx, func(ctx context.Context, node *redis.Client) (bool, error) {
		n, err := compareAndExpire.Run(ctx, node, []string{lease.Key}, lease.Value, l.ttl.Milliseconds()).Int()
		return n == 1, err
	})
	if err := l.majority("renewal", yes, no); err != nil {
		return lease, err
	}
	if elapsed := time.Duration(history.Now() - start); elapsed >= l.ttl-l.Drift() {
		return lease, fmt.Errorf("redlock: a majority was renewed, but after %s nothing is left of the lease", elapsed.Round(time.Millisecond))
	}
	lease.Start, lease.TTL = start, l.ttl
	return lease, nil
}

// majority is what yes and no of the nodes come to.
func (l *Redlock) majority(what string, yes, no int) error {
	switch {
	case yes >= l.quorum:
		return nil
	case no > len(l.nodes)-l.quorum:
		return ErrLost
	default:
		return Unknown{fmt.Errorf("redlock: too few nodes answered the %s", what)}
	}
}

// Close closes the connections.
func (l *Redlock) Close() error {
	var errs []error
	for _, node := range l.nodes {
		errs = append(errs, node.Close())
	}
	return errors.Join(errs...)
}
