package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/grpclog"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/gate"
	"github.com/torture-harness/torture/workloads/outcome"
	"github.com/torture-harness/torture/workloads/point"
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
	always bool // take the key whoever has it
}

// EtcdOption changes how the lock is taken.
type EtcdOption func(*Etcd)

// WithoutComparison drops the demand that the key is absent: whoever comes
// takes it. Broken on purpose.
func WithoutComparison() EtcdOption { return func(l *Etcd) { l.always = true } }

// NewEtcd connects to the members and starts to watch prefix, under which all
// keys of this locker lie. The TTL is in whole seconds, at least one.
func NewEtcd(endpoints []string, prefix string, ttl time.Duration, jitter *Jitter, options ...EtcdOption) (*Etcd, error) {
	client, err := dialEtcd(endpoints)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &Etcd{client: client, ttl: ttl, jitter: jitter, keys: newPresence(), stop: cancel}
	for _, o := range options {
		o(l)
	}
	go l.keys.follow(ctx, client, prefix)
	return l, nil
}

// dialEtcd makes a client that sends each request exactly once: a retried txn
// would lose against itself.
func dialEtcd(endpoints []string) (*clientv3.Client, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: endpoints, DialTimeout: 10 * time.Second,
		MaxUnaryRetries: 1,
		Logger:          zap.NewNop(),
		DialOptions:     []grpc.DialOption{gate.RPCs("/etcdserverpb.KV/Txn")},
	})
	if err != nil {
		return nil, fmt.Errorf("connect to etcd: %w", err)
	}
	return client, nil
}

// Wait returns once the key is gone and nobody was faster within TTL/20.
func (l *Etcd) Wait(ctx context.Context, key string, _ bool) error {
	return l.keys.awaitAbsent(ctx, key, func() time.Duration { return l.jitter.UpTo(l.ttl / 20) })
}

// Acquire grants itself a fresh lease and tries to put the key with it.
func (l *Etcd) Acquire(ctx context.Context, key string, sent func(int64)) (Lease, error) {
	lease, err := grantLease(ctx, l.client, l.ttl)
	if err != nil {
		return Lease{}, err
	}
	lease.Key, lease.Value = key, newValue()
	absent := []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(key), "=", 0)}
	if l.always {
		absent = nil
	}
	point.Reach(ctx, point.Leased)
	sent(lease.Start)
	answer, err := l.client.Txn(ctx).
		If(absent...).
		Then(clientv3.OpPut(key, lease.Value, clientv3.WithLease(clientv3.LeaseID(lease.ID)))).
		Commit()
	if err == nil && answer.Succeeded {
		lease.Token = answer.Header.Revision
		return lease, nil
	}
	revoke(ctx, l.client, lease, l.ttl)
	if err == nil {
		return Lease{}, ErrHeld
	}
	return Lease{}, etcdError("txn", err)
}

// grantLease asks for a lease of its own. One that is left over without a key
// harms nobody.
func grantLease(ctx context.Context, client *clientv3.Client, ttl time.Duration) (Lease, error) {
	lease := Lease{Start: history.Now()}
	granted, err := client.Grant(ctx, int64((ttl+time.Second-1)/time.Second))
	if err != nil {
		return Lease{}, fmt.Errorf("LeaseGrant: %w", err)
	}
	lease.ID, lease.TTL = int64(granted.ID), time.Duration(granted.TTL)*time.Second
	return lease, nil
}

// revoke ends the lease of an attempt that lost, or whose fate is unknown: had
// the key been put, it goes with the lease. The deadline of the attempt may be
// what ended it, so this has its own.
func revoke(ctx context.Context, client *clientv3.Client, lease Lease, patience time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_, _ = client.Revoke(ctx, clientv3.LeaseID(lease.ID)) // it ends by itself otherwise
}

// Release revokes the lease. A Delete of the key would hit the next holder's.
func (l *Etcd) Release(ctx context.Context, lease Lease) error {
	return revoked(l.client.Revoke(ctx, clientv3.LeaseID(lease.ID)))
}

// revoked is what the answer to the revocation of a holding's lease says.
func revoked(_ *clientv3.LeaseRevokeResponse, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		return ErrLost
	default:
		return etcdError("release", err)
	}
}

// etcdError is an Unknown or a certain failure.
func etcdError(what string, err error) error {
	if outcome.Etcd(err) == history.Info {
		return Unknown{err}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Check compares the key with our holding: the revision that created it is the
// one of our grant.
func (l *Etcd) Check(ctx context.Context, lease Lease) error {
	got, err := l.client.Get(ctx, lease.Key)
	switch {
	case err == nil && len(got.Kvs) == 1 && got.Kvs[0].CreateRevision == lease.Token && string(got.Kvs[0].Value) == lease.Value:
		return nil
	case err == nil:
		return ErrLost
	default:
		return etcdError("check", err)
	}
}

// Renew keeps the lease alive once. KeepAlive would do so again and again, and
// hide its times.
func (l *Etcd) Renew(ctx context.Context, lease Lease) (Lease, error) {
	return keepAliveOnce(ctx, l.client, lease)
}

func keepAliveOnce(ctx context.Context, client *clientv3.Client, lease Lease) (Lease, error) {
	start := history.Now()
	kept, err := client.KeepAliveOnce(ctx, clientv3.LeaseID(lease.ID))
	switch {
	case err == nil:
		lease.Start, lease.TTL = start, time.Duration(kept.TTL)*time.Second
		return lease, nil
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		return lease, ErrLost
	default:
		return lease, etcdError("renew", err)
	}
}

// Close ends the watch and the connection.
func (l *Etcd) Close() error {
	l.stop()
	return l.client.Close()
}
