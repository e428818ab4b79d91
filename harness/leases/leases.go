// Package leases looks at locks in their servers, as somebody who takes no part:
// is a lease still there? It can also end one before its time.
package leases

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/lock"
)

// Servers are connections to the servers of locks, made when they are needed.
type Servers struct {
	Places workloads.Places

	mu    sync.Mutex
	redis []*redis.Client
	etcd  *clientv3.Client
}

// Redis is the connection to the i-th Redis.
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

// FailOver is what a sentinel tells the clients: these are the masters now.
func (s *Servers) FailOver(masters ...lock.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.redis {
		_ = c.Close()
	}
	s.redis, s.Places.Redis = nil, masters
}

// Etcd is the connection to etcd.
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

// Gone reports whether the servers of the lock no longer have the lease, as they
// say themselves; a server that does not answer in time says nothing.
func (s *Servers) Gone(ctx context.Context, locker workloads.LockerKind, lease lock.Lease) bool {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	switch locker.LeaseBy {
	case "redis":
		for i := range locker.Needs.Redis {
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

// expireNow sets the end of a key into the past, if it still has that value.
var expireNow = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIREAT", KEYS[1], 1) else return 0 end`)

// End ends a lease at the servers before its time, as if it had run out: Redis
// is given an end in the past, etcd's lease is revoked. One that is gone already
// is no error.
func (s *Servers) End(ctx context.Context, locker workloads.LockerKind, lease lock.Lease) error {
	switch locker.LeaseBy {
	case "redis":
		var errs []error
		for i := range locker.Needs.Redis {
			errs = append(errs, expireNow.Run(ctx, s.Redis(i), []string{lease.Key}, lease.Value).Err())
		}
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("end the lease of %s: %w", lease.Key, err)
		}
		return nil
	case "etcd":
		client, err := s.Etcd()
		if err != nil {
			return err
		}
		if _, err := client.Revoke(ctx, clientv3.LeaseID(lease.ID)); err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return fmt.Errorf("revoke the lease of %s: %w", lease.Key, err)
		}
		return nil
	}
	return fmt.Errorf("the locker %s has no lease that could be ended", locker.Name)
}

// Close ends the connections.
func (s *Servers) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.redis {
		_ = c.Close()
	}
	if s.etcd != nil {
		_ = s.etcd.Close()
	}
}
