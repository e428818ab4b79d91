package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/outcome"
)

// Server is where one Redis is and how to log in.
type Server struct {
	Addr     string `json:"addr"`
	Password string `json:"password,omitempty"`
}

// compareAndDelete deletes the key only if it still has our value, in one step
// inside Redis (https://redis.io/docs/latest/commands/set/, "Patterns").
var compareAndDelete = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) else return 0 end`)

// dial makes a client that sends each command exactly once. Its deadlines are
// longer than any pause: a deadline from before a pause would fire at the
// resume and turn good answers into unknown ones.
func dial(s Server, clients int, patience time.Duration) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: s.Addr, Password: s.Password,
		Protocol: 2, DisableIdentity: true,
		MaxRetries: -1, DialerRetries: 1, // one attempt each
		PoolSize: clients + 1, PoolTimeout: patience,
		ReadTimeout: patience, WriteTimeout: patience, DialTimeout: 5 * time.Second,
		ContextTimeoutEnabled:    true,
		ConnMaxIdleTime:          -1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// setNX is SET key value NX PX ttl: took it, did not, or an error of the library.
func setNX(ctx context.Context, c *redis.Client, key, value string, ttl time.Duration) (bool, error) {
	err := c.Do(ctx, "SET", key, value, "NX", "PX", ttl.Milliseconds()).Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, err
}

// RedisSetNX is the lock of one Redis: SET NX PX, released by comparing and
// deleting. It has no token: nothing in it tells an older grant from a newer.
type RedisSetNX struct {
	client *redis.Client
	ttl    time.Duration
	jitter *Jitter
}

// NewRedisSetNX connects lazily. patience bounds every request; clients is how
// many use the locker at once.
func NewRedisSetNX(s Server, ttl, patience time.Duration, clients int, jitter *Jitter) *RedisSetNX {
	return &RedisSetNX{client: dial(s, clients, patience), ttl: ttl, jitter: jitter}
}

// Wait is one poll interval, TTL/20 ± 50 %, after a failed attempt: Redis gives
// no queue.
func (l *RedisSetNX) Wait(ctx context.Context, _ string, again bool) error {
	if !again {
		return ctx.Err()
	}
	return Pause(ctx, l.jitter.Around(l.ttl/20))
}

// Acquire is one SET NX PX with a fresh value.
func (l *RedisSetNX) Acquire(ctx context.Context, key string, sent func(int64)) (Lease, error) {
	lease := Lease{Key: key, Value: newValue(), TTL: l.ttl, Start: history.Now()}
	sent(lease.Start)
	took, err := setNX(ctx, l.client, key, lease.Value, l.ttl)
	switch {
	case err == nil && took:
		return lease, nil
	case err == nil:
		return Lease{}, ErrHeld
	case outcome.Redis(err) == history.Info:
		l.undo(ctx, lease)
		return Lease{}, Unknown{err}
	default:
		return Lease{}, fmt.Errorf("SET NX: %w", err)
	}
}

// undo takes back an attempt whose answer never came, should it have succeeded.
// The deadline of the attempt may be what ended it, so this has its own.
func (l *RedisSetNX) undo(ctx context.Context, lease Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.ttl)
	defer cancel()
	_ = compareAndDelete.Run(ctx, l.client, []string{lease.Key}, lease.Value).Err() // its lease ends it otherwise
}

// Release compares and deletes.
func (l *RedisSetNX) Release(ctx context.Context, lease Lease) error {
	n, err := compareAndDelete.Run(ctx, l.client, []string{lease.Key}, lease.Value).Int()
	switch {
	case err == nil && n == 1:
		return nil
	case err == nil:
		return ErrLost
	case outcome.Redis(err) == history.Info:
		return Unknown{err}
	default:
		return fmt.Errorf("release: %w", err)
	}
}

// Check compares the key with our value.
func (l *RedisSetNX) Check(ctx context.Context, lease Lease) error {
	value, err := l.client.Get(ctx, lease.Key).Result()
	switch {
	case err == nil && value == lease.Value:
		return nil
	case outcome.Redis(err) == history.OK:
		return ErrLost
	case outcome.Redis(err) == history.Info:
		return Unknown{err}
	default:
		return fmt.Errorf("check: %w", err)
	}
}

// Close closes the connections.
func (l *RedisSetNX) Close() error { return l.client.Close() }
