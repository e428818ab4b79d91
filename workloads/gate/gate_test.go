package gate_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/cluster/clustertest"
	"github.com/torture-harness/torture/workloads/gate"
)

const patience = 20 * time.Second

// doorkeeper is a reach function that waits for the word of a test.
type doorkeeper struct {
	arrived, open chan struct{}
	times         atomic.Int32
}

func newDoorkeeper() *doorkeeper {
	return &doorkeeper{arrived: make(chan struct{}, 10), open: make(chan struct{})}
}

func (d *doorkeeper) reach() {
	d.times.Add(1)
	d.arrived <- struct{}{}
	<-d.open
}

func (d *doorkeeper) awaitArrival(t *testing.T) {
	t.Helper()
	select {
	case <-d.arrived:
	case <-time.After(patience):
		t.Fatal("nobody arrived")
	}
}

func ctxOf(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func options(s *cluster.Server, pool int) *redis.Options {
	return &redis.Options{Addr: s.Addr, Password: s.Password, Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1,
		PoolSize: pool, ReadTimeout: patience, ContextTimeoutEnabled: true}
}

func pending(t *testing.T, done <-chan error) {
	t.Helper()
	select {
	case err := <-done:
		t.Fatalf("a reply was read behind a closed gate: %v", err)
	default:
	}
}

func TestRedis(t *testing.T) {
	servers := clustertest.Start(t, cluster.Spec{Redis: 3})
	ctx := ctxOf(t)
	var clients, direct []*redis.Client
	for _, s := range servers.Redis {
		clients, direct = append(clients, gate.NewRedis(options(s, 2))), append(direct, redis.NewClient(options(s, 2)))
	}
	t.Cleanup(func() {
		for i := range clients {
			clients[i].Close()
			direct[i].Close()
		}
	})
	set := func(ctx context.Context, c *redis.Client, key string) <-chan error {
		done := make(chan error, 1)
		go func() { done <- c.Do(ctx, "SET", key, "v", "NX", "PX", 60000).Err() }()
		return done
	}
	there := func(i int, key string) bool {
		n, err := direct[i].Exists(ctx, key).Result()
		if err != nil {
			t.Fatal(err)
		}
		return n == 1
	}

	t.Run("unarmed", func(t *testing.T) {
		if err := <-set(ctx, clients[0], "unarmed"); err != nil || !there(0, "unarmed") {
			t.Error(err)
		}
	})
	t.Run("sent, executed, not read", func(t *testing.T) {
		d := newDoorkeeper()
		done := set(gate.With(ctx, 0, d.reach), clients[0], "one")
		d.awaitArrival(t)
		for !there(0, "one") { // sent, so it comes
			time.Sleep(time.Millisecond)
		}
		pending(t, done)
		// Others of the pool pass, also with a key that has this one in it.
		for _, key := range []string{"other", "one-more", "on"} {
			if err := <-set(ctx, clients[0], key); err != nil {
				t.Error(err)
			}
		}
		pending(t, done)
		close(d.open)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if n := d.times.Load(); n != 1 {
			t.Errorf("reached %d times", n)
		}
	})
	t.Run("a second request of the attempt is not held", func(t *testing.T) {
		d := newDoorkeeper()
		close(d.open)
		attempt := gate.With(ctx, 1, d.reach)
		for range 3 {
			if err := <-set(attempt, clients[0], "again"); err != nil && !errors.Is(err, redis.Nil) {
				t.Error(err)
			}
		}
		if n := d.times.Load(); n != 1 {
			t.Errorf("reached %d times", n)
		}
	})
	t.Run("a script is known by its key", func(t *testing.T) {
		d := newDoorkeeper()
		done := make(chan error, 1)
		go func() {
			done <- clients[0].Eval(gate.With(ctx, 1, d.reach), `return redis.call("SET", KEYS[1], ARGV[1])`, []string{"scripted"}, "v").Err()
		}()
		d.awaitArrival(t)
		pending(t, done)
		close(d.open)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Run("of several servers all are asked first", func(t *testing.T) {
		d := newDoorkeeper()
		attempt := gate.With(ctx, 3, d.reach)
		one, two := set(attempt, clients[0], "many"), set(attempt, clients[1], "many")
		for !there(0, "many") || !there(1, "many") {
			time.Sleep(time.Millisecond)
		}
		pending(t, one)
		pending(t, two)
		if d.times.Load() != 0 {
			t.Fatal("it arrived with two of three requests sent")
		}
		three := set(attempt, clients[2], "many")
		d.awaitArrival(t)
		for _, done := range []<-chan error{one, two, three} {
			pending(t, done)
		}
		close(d.open)
		for _, done := range []<-chan error{one, two, three} {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if n := d.times.Load(); n != 1 {
			t.Errorf("reached %d times", n)
		}
	})
	t.Run("a server that refuses is not waited for", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		refuses := gate.NewRedis(&redis.Options{Addr: l.Addr().String(), MaxRetries: -1, DialerRetries: 1})
		defer refuses.Close()
		d := newDoorkeeper()
		attempt := gate.With(ctx, 2, d.reach)
		one := set(attempt, clients[0], "minority")
		if err := <-set(attempt, refuses, "minority"); err == nil {
			t.Error("nobody answered with success")
		}
		d.awaitArrival(t)
		pending(t, one)
		close(d.open)
		if err := <-one; err != nil {
			t.Error(err)
		}
	})
	t.Run("a request that never comes is not waited for beyond the deadline", func(t *testing.T) {
		d := newDoorkeeper()
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		if err := <-set(gate.With(short, 2, d.reach), clients[0], "alone"); err == nil {
			t.Error("a reply was read behind a closed gate")
		}
		if d.times.Load() != 0 {
			t.Error("it arrived with one of two requests sent")
		}
	})
}

func TestRPCs(t *testing.T) {
	servers := clustertest.Start(t, cluster.Spec{Etcd: 1})
	ctx := ctxOf(t)
	c, err := clientv3.New(clientv3.Config{Endpoints: servers.EtcdEndpoints(), DialTimeout: 10 * time.Second, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{gate.RPCs("/etcdserverpb.KV/Txn")}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	txn := func(ctx context.Context) <-chan error {
		done := make(chan error, 1)
		go func() { _, err := c.Txn(ctx).Then(clientv3.OpPut("lock", "v")).Commit(); done <- err }()
		return done
	}
	d := newDoorkeeper()
	attempt := gate.With(ctx, 0, d.reach)
	if _, err := c.Grant(attempt, 60); err != nil { // not one of the methods
		t.Fatal(err)
	}
	done := txn(attempt)
	d.awaitArrival(t)
	pending(t, done)
	got, err := c.Get(ctx, "lock") // over the same connection
	if err != nil || len(got.Kvs) != 1 {
		t.Errorf("behind the gate: %v, %v", got, err)
	}
	if err := <-txn(ctx); err != nil {
		t.Error(err)
	}
	pending(t, done)
	close(d.open)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := <-txn(attempt); err != nil || d.times.Load() != 1 {
		t.Errorf("the next: %v, reached %d times", err, d.times.Load())
	}
}
