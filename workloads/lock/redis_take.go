package lock

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/point"
)

// TakenInTwo is SETNX and then an expiry, the lock of the time before SET NX PX
// (https://redis.io/docs/latest/commands/setnx/). Whoever ends between the two
// leaves a key without an expiry.
func TakenInTwo() RedisOption {
	return func(l *RedisSetNX) {
		l.take = func(ctx context.Context, c *redis.Client, key, value string, ttl time.Duration) (bool, int64, int64, error) {
			took, err := c.Do(ctx, "SETNX", key, value).Bool()
			if err != nil || !took {
				return false, 0, 0, err
			}
			point.Reach(ctx, point.Between)
			start := history.Now()
			// PEXPIRE is EXPIRE for leases that are no whole seconds.
			found, err := c.PExpire(ctx, key, ttl).Result()
			if err != nil { // whatever it was: the key is taken
				return false, 0, 0, fmt.Errorf("the key was taken, and no expiry set: %v", err)
			}
			return found, 0, start, nil
		}
	}
}

// TakenAlways drops the NX: whoever comes takes the key. Broken on purpose.
func TakenAlways() RedisOption {
	return func(l *RedisSetNX) {
		l.take = func(ctx context.Context, c *redis.Client, key, value string, ttl time.Duration) (bool, int64, int64, error) {
			err := c.Do(ctx, "SET", key, value, "PX", ttl.Milliseconds()).Err()
			return err == nil, 0, 0, err
		}
	}
}

// TakenForEver drops the PX: only a release ends the lock. Broken on purpose.
func TakenForEver() RedisOption {
	return func(l *RedisSetNX) {
		l.take = func(ctx context.Context, c *redis.Client, key, value string, _ time.Duration) (bool, int64, int64, error) {
			took, err := c.Do(ctx, "SETNX", key, value).Bool()
			return took, 0, 0, err
		}
	}
}

// takeAndCount takes the key and draws the next number, in one step inside
// Redis (as Redisson's fenced lock does, https://redisson.pro/docs/data-and-services/locks-and-synchronizers/).
// It answers 0 if the key is somebody else's.
var takeAndCount = redis.NewScript(`if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return redis.call("INCR", KEYS[2]) else return 0 end`)

// counter is the key of the numbers of a lock. It has no expiry.
func counter(key string) string { return key + ":token" }

func takeCounted(ctx context.Context, c *redis.Client, key, value string, ttl time.Duration) (token int64, err error) {
	return takeAndCount.Run(ctx, c, []string{key, counter(key)}, value, ttl.Milliseconds()).Int64()
}

// Counted draws the fencing token in the script that takes the key: grant and
// number are one step, so the numbers have the order of the grants.
func Counted() RedisOption {
	return func(l *RedisSetNX) {
		l.take = func(ctx context.Context, c *redis.Client, key, value string, ttl time.Duration) (bool, int64, int64, error) {
			token, err := takeCounted(ctx, c, key, value, ttl)
			return token > 0, token, 0, err
		}
	}
}
