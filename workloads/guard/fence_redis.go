package guard

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/torture-harness/torture/workloads/point"
)

// FenceRedis keeps the numbers in a Redis, which compares and raises them in one
// step before the row is written by id alone. What Redis forgets, a restart
// without persistence say, counts as 0.
type FenceRedis struct {
	Plain
	client *redis.Client
}

// NewFenceRedis connects lazily.
func NewFenceRedis(addr, password string) FenceRedis {
	return FenceRedis{client: redis.NewClient(&redis.Options{
		Addr: addr, Password: password, Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1,
		ReadTimeout: time.Minute, WriteTimeout: time.Minute, ContextTimeoutEnabled: true, ConnMaxIdleTime: -1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})}
}

var raise = redis.NewScript(`if tonumber(redis.call("GET", KEYS[1]) or "0") >= tonumber(ARGV[1]) then return 0 end
redis.call("SET", KEYS[1], ARGV[1]) return 1`)

// Key is where the number of a row is.
func (FenceRedis) Key(schema string, id int64) string {
	return schema + "/fence/" + strconv.FormatInt(id, 10)
}

// Write raises the number and replaces the document.
func (f FenceRedis) Write(ctx context.Context, q Queryer, u Update) error {
	var schema string // so that cells on one Redis have numbers of their own
	if err := q.QueryRow(ctx, `SELECT current_schema()`).Scan(&schema); err != nil {
		return err
	}
	raised, err := raise.Run(ctx, f.client, []string{f.Key(schema, u.ID)}, u.Token).Int()
	if err != nil {
		return fmt.Errorf("%w: the number could not be compared: %v", ErrRolledBack, err)
	}
	if raised == 0 {
		return ErrRejected
	}
	point.Reach(ctx, point.Between)
	return write(ctx, q, `UPDATE config SET payload = $1 WHERE id = $2 RETURNING id`, u, u.ID)
}
