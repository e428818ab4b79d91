package lock

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/outcome"
)

// RedisIncr takes the key with SET NX PX and draws the token by an INCR of its
// own. A holder that is stopped between the two draws a larger number than its
// successor.
type RedisIncr struct{ *RedisSetNX }

// Token is the INCR.
func (l RedisIncr) Token(ctx context.Context, lease Lease) (int64, error) {
	return drawn(l.client.Incr(ctx, counter(lease.Key)).Result())
}

// RedisTokenLater counts in the script that takes the key, as it should be, and
// then reads the counter back when the token is asked for, as getToken() of
// Redisson's fenced lock does: the number may be the successor's by then.
type RedisTokenLater struct{ *RedisSetNX }

// NewRedisTokenLater makes one, connected as NewRedisSetNX does.
func NewRedisTokenLater(s Server, ttl, patience time.Duration, clients int, jitter *Jitter) RedisTokenLater {
	l := NewRedisSetNX(s, ttl, patience, clients, jitter)
	l.take = func(ctx context.Context, c *redis.Client, key, value string, ttl time.Duration) (bool, int64, int64, error) {
		token, err := takeCounted(ctx, c, key, value, ttl)
		return token > 0, 0, 0, err // the number is thrown away
	}
	return RedisTokenLater{l}
}

// Token reads the counter.
func (l RedisTokenLater) Token(ctx context.Context, lease Lease) (int64, error) {
	return drawn(l.client.Get(ctx, counter(lease.Key)).Int64())
}

func drawn(token int64, err error) (int64, error) {
	switch {
	case err == nil:
		return token, nil
	case outcome.Redis(err) == history.Info:
		return 0, Unknown{err}
	default:
		return 0, fmt.Errorf("draw the token: %w", err)
	}
}

// ValueToken takes the holding's random value for its fencing token, which a
// guard then compares as text. Such a value says "is it me", not "is it old".
func ValueToken() RedisOption {
	return func(l *RedisSetNX) { l.numbers = inOrderOfText }
}

// inOrderOfText is a number that compares as the beginning of the text does,
// byte by byte: what a history can say of the order of such tokens.
func inOrderOfText(s string) int64 {
	var n int64
	for i := range 7 { // 56 bits stay positive
		n <<= 8
		if i < len(s) {
			n |= int64(s[i])
		}
	}
	return n
}
