package lock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/gate"
	"github.com/torture-harness/torture/workloads/outcome"
)

// SilenceIsYes takes an answer that never came for a success. Broken on purpose:
// the answer may have been "no".
func SilenceIsYes() RedisOption { return silenceIs(true) }

// SilenceIsNo takes an answer that never came for a refusal, and cleans nothing
// up: if the key was taken all the same, it stays until its lease has ended.
func SilenceIsNo() RedisOption { return silenceIs(false) }

func silenceIs(took bool) RedisOption {
	return func(l *RedisSetNX) {
		take := l.take
		l.take = func(ctx context.Context, c *redis.Client, key, value string, ttl time.Duration) (bool, int64, int64, error) {
			answer, token, start, err := take(ctx, c, key, value, ttl)
			if outcome.Redis(err) == history.Info {
				return took, 0, 0, nil
			}
			return answer, token, start, err
		}
	}
}

// LibraryRetries leaves the library's own retries on, three of them
// (https://pkg.go.dev/github.com/redis/go-redis/v9#Options, MaxRetries): the
// second SET NX is refused because the first one, whose answer was lost, has
// taken the key.
func LibraryRetries() RedisOption {
	return func(l *RedisSetNX) {
		o := *l.client.Options()
		_ = l.client.Close() // it has not connected yet
		o.Dialer, o.MaxRetries, o.ConnMaxIdleTime = nil, 3, -1
		l.client = gate.NewRedis(&o)
	}
}
