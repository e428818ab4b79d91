package lock

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/torture-harness/torture/workloads/point"
)

// ReleasedByDel deletes the key whoever has it: after the end of its lease a
// holder so deletes the lock of the next.
func ReleasedByDel() RedisOption {
	return func(l *RedisSetNX) {
		l.giveUp = func(ctx context.Context, c *redis.Client, key, _ string) (bool, error) {
			n, err := c.Del(ctx, key).Result()
			return n == 1, err
		}
	}
}

// ReleasedByGetDel compares and deletes in two requests, between which the key
// may change hands.
func ReleasedByGetDel() RedisOption {
	return func(l *RedisSetNX) {
		l.giveUp = func(ctx context.Context, c *redis.Client, key, value string) (bool, error) {
			has, err := c.Get(ctx, key).Result()
			if errors.Is(err, redis.Nil) || err == nil && has != value {
				return false, nil
			}
			if err != nil {
				return false, err
			}
			point.Reach(ctx, point.Between)
			n, err := c.Del(ctx, key).Result()
			return n == 1, err
		}
	}
}
