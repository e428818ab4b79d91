package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc/grpclog"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/outcome"
)

var errSettled = errors.New("settled")

func init() {
	// gRPC logs every closed connection on standard error, where our own lines are.
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(discard{}, discard{}, discard{}))
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// Etcd is a key bound to a lease, put by a transaction that demands its
// absence. The revision of that transaction is the fencing token: revisions of
// a cluster only grow, and the grant and its number are one commit.
type Etcd struct {
	client *clientv3.Client
	ttl    time.Duration
	jitter *Jitter
	keys   *presence
	stop   context.CancelFunc
}

// NewEtcd connects to the members and starts to watch prefix, under which all
// keys of this locker lie. The TTL is in whole seconds, at least one.
func NewEtcd(endpoints []string, prefix string, ttl time.Duration, jitter *Jitter) (*Etcd, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: endpoints, DialTimeout: 10 * time.Second,
		MaxUnaryRetries: 1, // one attempt: a retried txn would lose against itself
		Logger:          zap.NewNop(),
	})
	if err != nil {
		return nil, fmt.Errorf("connect to etcd: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &Etcd{client: client, ttl: ttl, jitter: jitter, keys: newPresence(), stop: cancel}
	go l.keys.follow(ctx, client, prefix)
	return l, nil
}

// Wait returns once the key is gone and nobody was faster within TTL/20.
func (l *Etcd) Wait(ctx context.Context, key string, _ bool) error {
	return l.keys.awaitAbsent(ctx, key, func() time.Duration { return l.jitter.UpTo(l.ttl / 20) })
}

// Acquire grants itself a fresh lease and tries to put the key with it.
func (l *Etcd) Acquire(ctx context.Context, key string, sent func(int64)) (Lease, error) {
	lease := Lease{Key: key, Value: newValue(), Start: history.Now()}
	granted, err := l.client.Grant(ctx, int64((l.ttl+time.Second-1)/time.Second))
	if err != nil {
		return Lease{}, fmt.Errorf("LeaseGrant: %w", err) // an orphan lease without a key harms nobody
	}
	lease.ID = int64(granted.ID)
	lease.TTL = time.Duration(granted.TTL) * time.Second

	sent(lease.Start)
	answer, err := l.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
		Then(clientv3.OpPut(key, lease.Value, clientv3.WithLease(granted.ID))).
		Commit()
	if err == nil && answer.Succeeded {
		lease.Token = answer.Header.Revision
		return lease, nil
	}
	l.undo(ctx, granted.ID)
	switch {
	case err == nil:
		return Lease{}, ErrHeld
	case outcome.Etcd(err) == history.Info:
		return Lease{}, Unknown{err}
	default:
		return Lease{}, fmt.Errorf("txn: %w", err)
	}
}

// undo revokes the lease of an attempt that lost, or whose fate is unknown: had
// the key been put, it goes with the lease. The deadline of the attempt may be
// what ended it, so this has its own.
func (l *Etcd) undo(ctx context.Context, id clientv3.LeaseID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.ttl)
	defer cancel()
	_, _ = l.client.Revoke(ctx, id) // it ends by itself otherwise
}

// Release revokes the lease. A Delete of the key would hit the next holder's.
func (l *Etcd) Release(ctx context.Context, lease Lease) error {
	_, err := l.client.Revoke(ctx, clientv3.LeaseID(lease.ID))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		return ErrLost
	case outcome.Etcd(err) == history.Info:
		return Unknown{err}
	default:
		return fmt.Errorf("release: %w", err)
	}
}

// Close ends the watch and the connection.
func (l *Etcd) Close() error {
	l.stop()
	return l.client.Close()
}
