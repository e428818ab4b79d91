package outcome_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/cluster/clustertest"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/internal/await"
	"github.com/torture-harness/torture/workloads/outcome"
)

// redisServer is one real server.
type redisServer struct{ *cluster.Server }

func TestRedis(t *testing.T) {
	r := redisServer{clustertest.Start(t, cluster.Spec{Redis: 1}).Redis[0]}
	judge(t, outcome.Redis, []row{
		{"done", r.do("SET", "done", "1"), isNil, history.OK},
		{"nothing", r.do("GET", "nowhere"), errorIs(redis.Nil), history.OK},
		{"not done, for NX forbids it", r.setTwice, errorIs(redis.Nil), history.OK},

		{"wrong type", r.wrongType, replies("WRONGTYPE"), history.Fail},
		{"wrong password", r.wrongPassword, replies("WRONGPASS"), history.Fail},
		{"no password", r.noPassword, replies("NOAUTH"), history.Fail},
		{"unknown script", r.do("EVALSHA", strings.Repeat("0", 40), "0"), replies("NOSCRIPT"), history.Fail},
		{"an error inside a script", r.do("EVAL", "return redis.call('INCR')", "0"), replies("ERR"), history.Fail},
		{"out of memory", r.outOfMemory, replies("OOM"), history.Fail},
		{"a replica", r.replica, replies("READONLY"), history.Fail},
		{"refused dial", r.refused, errorIs(syscall.ECONNREFUSED), history.Fail},
		{"refused dials, more than the pool holds", r.refusedOften, errorIs(syscall.ECONNREFUSED), history.Fail},
		{"the pool has no connection", r.poolTimeout, errorIs(redis.ErrPoolTimeout), history.Fail},
		{"a client that is closed", r.closedClient, errorIs(redis.ErrClosed), history.Fail},

		{"the deadline of a context in flight", r.contextEndsInFlight, timesOut, history.Info},
		{"no reply in time", r.readTimeout, timesOut, history.Info},
		{"the server was killed in flight", r.killedInFlight, errorIs(io.EOF), history.Info},
		{"the server was killed with the request unread", r.killedUnread, errorIs(syscall.ECONNRESET), history.Info},
	})
	t.Run("what was given up may still happen", r.givenUpHappens)
}

func replies(code string) func(error) bool {
	return func(err error) bool {
		var reply redis.Error
		return errors.As(err, &reply) && strings.Contains(err.Error(), code)
	}
}

func timesOut(err error) bool {
	var n interface{ Timeout() bool }
	return errors.As(err, &n) && n.Timeout()
}

// options send each command exactly once.
func (r redisServer) options() *redis.Options {
	return &redis.Options{
		Addr: r.Addr, Password: r.Password, Protocol: 2, DisableIdentity: true,
		MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, ReadTimeout: time.Minute,
	}
}

// client is connected already.
func (r redisServer) client(t *testing.T) *redis.Client {
	t.Helper()
	c := connect(t, r.options())
	must(t, c.Ping(soon(t)).Err())
	return c
}

func connect(t *testing.T, o *redis.Options) *redis.Client {
	t.Helper()
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (r redisServer) do(args ...any) func(*testing.T) error {
	return func(t *testing.T) error { return r.client(t).Do(soon(t), args...).Err() }
}

func (r redisServer) setTwice(t *testing.T) error {
	must(t, r.do("SET", "twice", "1", "NX")(t))
	return r.do("SET", "twice", "2", "NX")(t)
}

func (r redisServer) wrongType(t *testing.T) error {
	must(t, r.do("LPUSH", "list", "1")(t))
	return r.do("INCR", "list")(t)
}

func (r redisServer) wrongPassword(t *testing.T) error {
	o := r.options()
	o.Password = "wrong"
	return connect(t, o).Set(soon(t), "k", "1", 0).Err()
}

func (r redisServer) noPassword(t *testing.T) error {
	o := r.options()
	o.Password = ""
	return connect(t, o).Set(soon(t), "k", "1", 0).Err()
}

func (r redisServer) outOfMemory(t *testing.T) error {
	must(t, r.do("CONFIG", "SET", "maxmemory", "1")(t))
	t.Cleanup(func() { must(t, r.do("CONFIG", "SET", "maxmemory", "0")(t)) })
	return r.do("SET", "k", "1")(t)
}

func (r redisServer) replica(t *testing.T) error {
	must(t, r.do("REPLICAOF", "127.0.0.1", "1")(t)) // of nobody
	t.Cleanup(func() { must(t, r.do("REPLICAOF", "NO", "ONE")(t)) })
	return r.do("SET", "k", "1")(t)
}

func (r redisServer) refused(t *testing.T) error {
	r.killed(t)
	return connect(t, r.options()).Set(soon(t), "k", "1", 0).Err()
}

func (r redisServer) refusedOften(t *testing.T) error {
	r.killed(t)
	o := r.options()
	o.PoolSize = 2
	c := connect(t, o)
	for range 3 { // from then on the library repeats its last error
		if err := c.Set(soon(t), "k", "1", 0).Err(); outcome.Redis(err) != history.Fail {
			t.Fatalf("%v is %q", err, outcome.Redis(err))
		}
	}
	return c.Set(soon(t), "k", "1", 0).Err()
}

func (r redisServer) poolTimeout(t *testing.T) error {
	o := r.options()
	o.PoolSize, o.PoolTimeout = 1, 50*time.Millisecond
	c := connect(t, o)
	blocked := r.blocked(t, c)
	err := c.Set(soon(t), "k", "1", 0).Err()
	must(t, r.do("LPUSH", t.Name(), "go on")(t))
	must(t, <-blocked)
	return err
}

func (r redisServer) closedClient(t *testing.T) error {
	c := r.client(t)
	must(t, c.Close())
	return c.Set(soon(t), "k", "1", 0).Err()
}

func (r redisServer) contextEndsInFlight(t *testing.T) error {
	c := r.client(t)
	r.stopped(t)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	return c.Set(ctx, "k", "1", 0).Err()
}

func (r redisServer) readTimeout(t *testing.T) error {
	o := r.options()
	o.ReadTimeout = 300 * time.Millisecond
	c := connect(t, o)
	must(t, c.Ping(soon(t)).Err())
	r.stopped(t)
	return c.Set(soon(t), "k", "1", 0).Err()
}

func (r redisServer) killedInFlight(t *testing.T) error {
	blocked := r.blocked(t, r.client(t))
	r.killed(t)
	return <-blocked
}

func (r redisServer) killedUnread(t *testing.T) error {
	c := r.client(t)
	await.Read(t, r.Addr)
	must(t, r.Stop(soon(t)))
	answered := make(chan error, 1)
	ctx := soon(t)
	go func() { answered <- c.Set(ctx, "k", "1", 0).Err() }()
	await.Sent(t, r.Addr, 1)
	r.killed(t)
	return <-answered
}

// givenUpHappens shows why the end of a context proves nothing.
func (r redisServer) givenUpHappens(t *testing.T) {
	c := r.client(t)
	must(t, r.Stop(soon(t)))
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	err := c.Set(ctx, "given up", "1", 0).Err()
	if got := outcome.Redis(err); got != history.Info {
		t.Errorf("%v is %q, want %q", err, got, history.Info)
	}
	must(t, r.Continue(soon(t)))
	after := r.client(t)
	await.That(t, "the write that was given up", func() bool {
		n, err := after.Exists(soon(t), "given up").Result()
		must(t, err)
		return n == 1
	})
}

// blocked is a request of c that the server is known to have and not to answer.
func (r redisServer) blocked(t *testing.T, c *redis.Client) <-chan error {
	t.Helper()
	answered := make(chan error, 1)
	ctx, key := soon(t), t.Name()
	go func() { answered <- c.Do(ctx, "BLPOP", key, "0").Err() }()
	observer := r.client(t)
	await.That(t, "a blocked client", func() bool {
		info, err := observer.Info(ctx, "clients").Result()
		must(t, err)
		return strings.Contains(info, "blocked_clients:1\r\n")
	})
	return answered
}

// stopped stops the server until the end of the test.
func (r redisServer) stopped(t *testing.T) {
	t.Helper()
	must(t, r.Stop(soon(t)))
	t.Cleanup(func() { must(t, r.Continue(soon(t))) })
}

// killed kills the server until the end of the test.
func (r redisServer) killed(t *testing.T) {
	t.Helper()
	must(t, r.Kill(soon(t)))
	t.Cleanup(func() { must(t, r.Restart(soon(t))) })
}
