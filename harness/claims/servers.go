package claims

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/torture-harness/torture/harness"
	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/guardian"
	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/lock"
)

// Servers are the servers of a case, shared with others or its own, and the
// stage's own connections to them.
type Servers struct {
	Cluster   *cluster.Cluster
	Places    workloads.Places
	Disturbed bool // they are the case's own, and it may stop them

	guardian *guardian.Guardian // of servers of its own

	mu    sync.Mutex
	redis []*redis.Client
	etcd  *clientv3.Client
}

func newServers(c *cluster.Cluster, own *guardian.Guardian) *Servers {
	return &Servers{Cluster: c, Places: harness.PlacesOf(c), Disturbed: own != nil, guardian: own}
}

// Redis is the stage's connection to the i-th Redis.
func (s *Servers) Redis(i int) *redis.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.redis == nil {
		for _, place := range s.Places.Redis {
			s.redis = append(s.redis, redis.NewClient(&redis.Options{Addr: place.Addr, Password: place.Password, Protocol: 2, DisableIdentity: true,
				MaxRetries: -1, DialerRetries: 1, PoolSize: 32, ContextTimeoutEnabled: true,
				MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}}))
		}
	}
	return s.redis[i]
}

// Etcd is the stage's connection to etcd.
func (s *Servers) Etcd() (*clientv3.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.etcd == nil {
		client, err := clientv3.New(clientv3.Config{Endpoints: s.Places.Etcd, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
		if err != nil {
			return nil, fmt.Errorf("connect to etcd: %w", err)
		}
		s.etcd = client
	}
	return s.etcd, nil
}

// gone reports whether the server of the lock no longer has the lease, as it
// says itself; a server that does not answer in time says nothing.
func (s *Servers) gone(ctx context.Context, strategy workloads.Strategy, lease lock.Lease) bool {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	switch strategy.Locker.LeaseBy {
	case "redis":
		for i := range strategy.Locker.Needs.Redis {
			value, err := s.Redis(i).Get(ctx, lease.Key).Result()
			if err != nil && err != redis.Nil || err == nil && value == lease.Value {
				return false
			}
		}
		return true
	case "etcd":
		client, err := s.Etcd()
		if err != nil {
			return false
		}
		left, err := client.TimeToLive(ctx, clientv3.LeaseID(lease.ID))
		if err != nil || left.TTL > 0 {
			return false
		}
		// A lease without time left is still there until its keys are deleted.
		keys, err := client.TimeToLive(ctx, clientv3.LeaseID(lease.ID), clientv3.WithAttachedKeys())
		return err == nil && keys.TTL <= 0 && len(keys.Keys) == 0
	}
	return false
}

func (s *Servers) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.redis {
		_ = c.Close()
	}
	if s.etcd != nil {
		_ = s.etcd.Close()
	}
}
