package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// errNoReplica says that a Redis follows nobody.
var errNoReplica = errors.New("it is no replica")

// Promote makes a replica a master of its own (REPLICAOF NO ONE), with the data
// that it has at that moment, whatever its old master has or does. A restart
// makes it follow its old master again.
func (s *Server) Promote(ctx context.Context) error {
	if s.master == nil {
		return fmt.Errorf("promote %s: %w", s.Name, errNoReplica)
	}
	c := redisClient(s)
	defer c.Close()
	err := c.Do(ctx, "REPLICAOF", "NO", "ONE").Err()
	if err == nil {
		var info map[string]string
		if info, err = redisInfo(ctx, c, "replication"); err == nil && info["role"] != "master" {
			err = fmt.Errorf("its role is still %s", info["role"])
		}
	}
	if err != nil {
		return fmt.Errorf("promote %s: %w", s.Name, err)
	}
	return nil
}

// WaitLink returns once a replica says that its link to its master is up (it
// has all of the data, and gets what is written from now on), or down. It is
// an error if the replica has been promoted.
func (s *Server) WaitLink(ctx context.Context, up bool) error {
	c := redisClient(s)
	defer c.Close()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		is, err := linkIsUp(ctx, c)
		if errors.Is(err, errNoReplica) {
			return fmt.Errorf("wait for the link of %s: %w", s.Name, err)
		}
		if err == nil && is == up {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the link of %s: %w", s.Name, errors.Join(err, context.Cause(ctx)))
		case <-tick.C:
		}
	}
}

func linkIsUp(ctx context.Context, c *redis.Client) (bool, error) {
	info, err := redisInfo(ctx, c, "replication")
	if err != nil {
		return false, err
	}
	if info["role"] != "slave" {
		return false, errNoReplica
	}
	return info["master_link_status"] == "up", nil
}
