package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/gate"
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
	return gate.NewRedis(&redis.Options{
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
// deleting (https://redis.io/docs/latest/commands/set/, "Patterns"). It has no
// token: nothing in it tells an older grant from a newer. The options turn it
// into what else is done with one Redis.
type RedisSetNX struct {
	client  *redis.Client
	ttl     time.Duration
	jitter  *Jitter
	take    taking
	giveUp  giving
	value   func() string
	numbers func(value string) int64 // the token in the value, nil if there is none
}

// taking tries to take the key with a value. start is when the lease began at
// the earliest, 0 if that is before the call; token is 0 if it draws none.
type taking func(ctx context.Context, c *redis.Client, key, value string, ttl time.Duration) (took bool, token, start int64, err error)

// giving gives a key back; it reports whether it was still ours.
type giving func(ctx context.Context, c *redis.Client, key, value string) (ours bool, err error)

// RedisOption changes how the lock of one Redis is taken or given back.
type RedisOption func(*RedisSetNX)

// FixedValue uses one value for every attempt, so that it names the client and
// not the holding; "" keeps the fresh ones.
func FixedValue(value string) RedisOption {
	return func(l *RedisSetNX) {
		if value != "" {
			l.value = func() string { return value }
		}
	}
}

// NewRedisSetNX connects lazily. patience bounds every request; clients is how
// many use the locker at once.
func NewRedisSetNX(s Server, ttl, patience time.Duration, clients int, jitter *Jitter, options ...RedisOption) *RedisSetNX {
	l := &RedisSetNX{client: dial(s, clients, patience), ttl: ttl, jitter: jitter,
		take: takeSetNX, giveUp: deleteOurs, value: newValue}
	for _, o := range options {
		o(l)
	}
	return l
}

func takeSetNX(ctx context.Context, c *redis.Client, key, value string, ttl time.Duration) (bool, int64, int64, error) {
	took, err := setNX(ctx, c, key, value, ttl)
	return took, 0, 0, err
}

func deleteOurs(ctx context.Context, c *redis.Client, key, value string) (bool, error) {
	n, err := compareAndDelete.Run(ctx, c, []string{key}, value).Int()
	return n == 1, err
}

// Wait is one poll interval, TTL/20 ± 50 %, after a failed attempt: Redis gives
// no queue.
func (l *RedisSetNX) Wait(ctx context.Context, _ string, again bool) error {
	if !again {
		return ctx.Err()
	}
	return Pause(ctx, l.jitter.Around(l.ttl/20))
}

// Acquire is one attempt.
func (l *RedisSetNX) Acquire(ctx context.Context, key string, sent func(int64)) (Lease, error) {
	lease := Lease{Key: key, Value: l.value(), TTL: l.ttl, Start: history.Now()}
	sent(lease.Start)
	took, token, start, err := l.take(ctx, l.client, key, lease.Value, l.ttl)
	switch {
	case err == nil && took:
		lease.Token, lease.Start = token, max(lease.Start, start)
		if l.numbers != nil {
			lease.Token = l.numbers(lease.Value)
		}
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

// Release gives the key back, by comparing and deleting unless an option says
// otherwise.
func (l *RedisSetNX) Release(ctx context.Context, lease Lease) error {
	ours, err := l.giveUp(ctx, l.client, lease.Key, lease.Value)
	return answered("release", ours, err)
}

// answered is what an answer of Redis about our holding says.
func answered(what string, ours bool, err error) error {
	switch {
	case err == nil && ours:
		return nil
	case err == nil:
		return ErrLost
	case outcome.Redis(err) == history.Info:
		return Unknown{err}
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}

// Check compares the key with our value.
func (l *RedisSetNX) Check(ctx context.Context, lease Lease) error {
	value, err := l.client.Get(ctx, lease.Key).Result()
	if errors.Is(err, redis.Nil) {
		return ErrLost
	}
	return answered("check", value == lease.Value, err)
}

// compareAndExpire gives the key its full lease again, if it still has our value.
var compareAndExpire = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) else return 0 end`)

// Renew compares and sets the expiry afresh, in one step inside Redis.
func (l *RedisSetNX) Renew(ctx context.Context, lease Lease) (Lease, error) {
	start := history.Now()
	n, err := compareAndExpire.Run(ctx, l.client, []string{lease.Key}, lease.Value, l.ttl.Milliseconds()).Int()
	if err := answered("renew", n == 1, err); err != nil {
		return lease, err
	}
	lease.Start, lease.TTL = start, l.ttl
	return lease, nil
}

// Close closes the connections.
func (l *RedisSetNX) Close() error { return l.client.Close() }
