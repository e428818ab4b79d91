package outcome_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/cluster/clustertest"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/internal/await"
	"github.com/torture-harness/torture/workloads/outcome"
)

// etcdCluster is three real members.
type etcdCluster struct{ *cluster.Cluster }

func TestEtcd(t *testing.T) {
	e := etcdCluster{clustertest.Start(t, cluster.Spec{Etcd: 3})}
	judge(t, outcome.Etcd, []row{
		{"done", e.put("k", "v"), isNil, history.OK},

		{"lease not found", e.leaseNotFound, errorIs(rpctypes.ErrLeaseNotFound), history.Fail},
		{"a key bound to a lease that is gone", e.goneLease, errorIs(rpctypes.ErrLeaseNotFound), history.Fail},
		{"compacted", e.compacted, errorIs(rpctypes.ErrCompacted), history.Fail},
		{"invalid", e.put("", "v"), errorIs(rpctypes.ErrEmptyKey), history.Fail},
		{"too large", e.put("k", strings.Repeat("v", 7<<18)), errorIs(rpctypes.ErrRequestTooLarge), history.Fail},
		{"too large to be sent", e.put("k", strings.Repeat("v", 2<<20)), has(codes.ResourceExhausted, "trying to send"), history.Fail},
		{"lease id in use", e.leaseExists, has(codes.FailedPrecondition, "lease already exists"), history.Fail},
		{"users without authentication", e.authenticate, errorIs(rpctypes.ErrAuthNotEnabled), history.Fail},
		{"refused dial", e.refused, has(codes.Unavailable, "connection refused"), history.Fail},
		{"refused dial of every member", e.allRefused, has(codes.Unavailable, "connection refused"), history.Fail},

		{"no quorum", e.noQuorum, timedOutThere, history.Info},
		{"nobody to connect to until the deadline", e.nobodyThere, errorIs(context.DeadlineExceeded), history.Info},
		{"the deadline of a context in flight", e.contextEndsInFlight, errorIs(context.DeadlineExceeded), history.Info},
		{"a context cancelled in flight", e.cancelledInFlight, errorIs(context.Canceled), history.Info},
		{"the members were killed in flight", e.killedInFlight, has(codes.Unavailable, ""), history.Info},
	})
}

func has(code codes.Code, words string) func(error) bool {
	return func(err error) bool {
		s, ok := status.FromError(err)
		return ok && s.Code() == code && strings.Contains(s.Message(), words)
	}
}

// timedOutThere is what a member says that did not see its proposal commit: one
// thing if it had a leader to send it to, another if it had none.
func timedOutThere(err error) bool {
	var e rpctypes.EtcdError
	return errors.As(err, &e) && e.Code() == codes.Unavailable && strings.HasPrefix(e.Error(), "etcdserver: request timed out") ||
		has(codes.DeadlineExceeded, "context deadline exceeded")(err)
}

// failFast turns off the library's waiting for a connection, which otherwise
// goes on until the context ends.
var failFast = []grpc.DialOption{grpc.WithChainUnaryInterceptor(
	func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return invoke(ctx, method, req, reply, cc, append(opts, grpc.WaitForReady(false))...)
	})}

// fresh is a client that has not connected yet.
func (e etcdCluster) fresh(t *testing.T, options []grpc.DialOption, endpoints ...string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: 10 * time.Second, MaxUnaryRetries: 1,
		DialOptions: options, Logger: zap.NewNop()})
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// client is connected to the first member, and the cluster has a leader.
func (e etcdCluster) client(t *testing.T) *clientv3.Client {
	t.Helper()
	c := e.fresh(t, nil, e.EtcdEndpoints()[0])
	await.That(t, "an answer of etcd", func() bool {
		_, err := c.Get(soon(t), "k")
		return err == nil
	})
	return c
}

func (e etcdCluster) put(key, value string) func(*testing.T) error {
	return func(t *testing.T) error {
		_, err := e.client(t).Put(soon(t), key, value)
		return err
	}
}

func (e etcdCluster) leaseNotFound(t *testing.T) error {
	_, err := e.client(t).Revoke(soon(t), 4711)
	return err
}

func (e etcdCluster) goneLease(t *testing.T) error {
	_, err := e.client(t).Txn(soon(t)).Then(clientv3.OpPut("k", "v", clientv3.WithLease(4711))).Commit()
	return err
}

func (e etcdCluster) compacted(t *testing.T) error {
	c := e.client(t)
	put, err := c.Put(soon(t), "k", "v")
	must(t, err)
	_, err = c.Compact(soon(t), put.Header.Revision)
	must(t, err)
	_, err = c.Get(soon(t), "k", clientv3.WithRev(put.Header.Revision-1))
	return err
}

// leaseExists chooses the id of the lease itself, which the library does not do.
func (e etcdCluster) leaseExists(t *testing.T) error {
	c := e.client(t)
	granted, err := c.Grant(soon(t), 60)
	must(t, err)
	_, err = pb.NewLeaseClient(c.ActiveConnection()).LeaseGrant(soon(t), &pb.LeaseGrantRequest{ID: int64(granted.ID), TTL: 60})
	return err
}

func (e etcdCluster) authenticate(t *testing.T) error {
	_, err := e.client(t).Authenticate(soon(t), "root", "secret")
	return err
}

func (e etcdCluster) refused(t *testing.T) error {
	e.killed(t, e.Etcd[:1])
	_, err := e.fresh(t, failFast, e.EtcdEndpoints()[0]).Put(soon(t), "k", "v")
	return err
}

func (e etcdCluster) allRefused(t *testing.T) error {
	e.killed(t, e.Etcd)
	_, err := e.fresh(t, failFast, e.EtcdEndpoints()...).Put(soon(t), "k", "v")
	return err
}

// nobodyThere is the same with the library's default, which is to wait.
func (e etcdCluster) nobodyThere(t *testing.T) error {
	e.killed(t, e.Etcd)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err := e.fresh(t, nil, e.EtcdEndpoints()...).Put(ctx, "k", "v")
	return err
}

// noQuorum lets one member go on alone: it answers that it does not know.
func (e etcdCluster) noQuorum(t *testing.T) error {
	c := e.client(t)
	e.stopped(t, e.Etcd[1:])
	_, err := c.Put(soon(t), "k", "v")
	return err
}

func (e etcdCluster) contextEndsInFlight(t *testing.T) error {
	c := e.client(t)
	e.stopped(t, e.Etcd)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err := c.Put(ctx, "k", "v")
	return err
}

func (e etcdCluster) cancelledInFlight(t *testing.T) error {
	c := e.client(t)
	await.Read(t, e.Etcd[0].Addr)
	e.stopped(t, e.Etcd)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	answered := e.putInFlight(t, ctx, c)
	cancel()
	return <-answered
}

func (e etcdCluster) killedInFlight(t *testing.T) error {
	c := e.client(t)
	await.Read(t, e.Etcd[0].Addr)
	each(t, e.Etcd, (*cluster.Server).Stop)
	answered := e.putInFlight(t, soon(t), c)
	e.killed(t, e.Etcd)
	return <-answered
}

// putInFlight returns once the request lies in the socket of the first member,
// which is stopped.
func (e etcdCluster) putInFlight(t *testing.T, ctx context.Context, c *clientv3.Client) <-chan error {
	t.Helper()
	answered := make(chan error, 1)
	go func() {
		_, err := c.Put(ctx, "k", "v")
		answered <- err
	}()
	await.Sent(t, e.Etcd[0].Addr, 1)
	return answered
}

// stopped stops members until the end of the test.
func (e etcdCluster) stopped(t *testing.T, members []*cluster.Server) {
	t.Helper()
	each(t, members, (*cluster.Server).Stop)
	t.Cleanup(func() { each(t, members, (*cluster.Server).Continue) })
}

// killed kills members until the end of the test.
func (e etcdCluster) killed(t *testing.T, members []*cluster.Server) {
	t.Helper()
	each(t, members, (*cluster.Server).Kill)
	t.Cleanup(func() { each(t, members, (*cluster.Server).Restart) })
}

// each does something to all of them at once: a member alone does not get ready.
func each(t *testing.T, members []*cluster.Server, do func(*cluster.Server, context.Context) error) {
	t.Helper()
	ctx := soon(t)
	var all errgroup.Group
	for _, m := range members {
		all.Go(func() error { return do(m, ctx) })
	}
	must(t, all.Wait())
}
