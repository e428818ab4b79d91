package lock

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/cluster/clustertest"
	"github.com/torture-harness/torture/workloads/internal/await"
)

const patience = 30 * time.Second

func serverOf(s *cluster.Server) Server { return Server{Addr: s.Addr, Password: s.Password} }

// look connects to a server for a test to see what it has.
func look(t *testing.T, s *cluster.Server) *redis.Client {
	t.Helper()
	c := dial(serverOf(s), 1, patience)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// valuesOf asks those of the servers that run.
func valuesOf(servers []*cluster.Server) func(*testing.T, string) []string {
	return func(t *testing.T, key string) []string {
		t.Helper()
		var values []string
		for _, s := range servers {
			if s.State() != cluster.Running {
				continue
			}
			c := dial(serverOf(s), 1, patience)
			v, err := c.Get(soon(t), key).Result()
			_ = c.Close()
			if errors.Is(err, redis.Nil) {
				continue
			}
			must(t, err)
			values = append(values, v)
		}
		return values
	}
}

func openSetNX(t *testing.T, s *cluster.Server, ttl time.Duration) *RedisSetNX {
	t.Helper()
	l := NewRedisSetNX(serverOf(s), ttl, patience, 1, NewJitter(1, 1))
	t.Cleanup(func() { must(t, l.Close()) })
	return l
}

func TestRedisSetNX(t *testing.T) {
	t.Parallel() // each has servers of its own
	s := clustertest.Start(t, cluster.Spec{Redis: 1}).Redis[0]
	b := bench{
		open:   func(t *testing.T, ttl time.Duration) Locker { return openSetNX(t, s, ttl) },
		values: valuesOf([]*cluster.Server{s}), nodes: 1,
	}
	b.contract(t)
	t.Run("the lease begins before the request is sent", func(t *testing.T) {
		startsBeforeSending(t, openSetNX(t, s, patience), s)
	})

	t.Run("an attempt without an answer is undone", func(t *testing.T) {
		const ttl = 20 * time.Second // much longer than the test takes
		l, key := openSetNX(t, s, ttl), t.Name()
		attempted := unanswered(t, l, s, key)
		await.Sent(t, s.Addr, 2) // given up, and the undoing is on its way
		must(t, s.Continue(soon(t)))
		wantUnknown(t, "an attempt without an answer", <-attempted)
		b.wantNothing(t, key)
	})
	t.Run("a ghost ends with its lease", func(t *testing.T) {
		const ttl = time.Second
		l, key := openSetNX(t, s, ttl), t.Name()
		err := <-unanswered(t, l, s, key) // the undoing has been given up too
		wantUnknown(t, "an attempt without an answer", err)
		must(t, s.Continue(soon(t)))
		await.That(t, "the ghost", func() bool { return b.owner(t, key) != "" })
		_, err = take(t, l, key)
		wantErr(t, "an attempt against the ghost", err, ErrHeld)
		b.awaitGone(t, key)
		mustTake(t, l, key)
	})

	t.Run("still mine?", func(t *testing.T) {
		l, next, key := openSetNX(t, s, time.Second), openSetNX(t, s, 10*time.Second), t.Name()
		mine := mustTake(t, next, key)
		must(t, next.Check(soon(t), mine))
		must(t, next.Release(soon(t), mine))
		wantErr(t, "after the release", next.Check(soon(t), mine), ErrLost)

		ended := mustTake(t, l, key)
		must(t, l.Check(soon(t), ended))
		b.awaitGone(t, key)
		wantErr(t, "after the lease's end", l.Check(soon(t), ended), ErrLost)
		mustTake(t, next, key)
		wantErr(t, "while another holds it", l.Check(soon(t), ended), ErrLost)
	})

	t.Run("no answer", func(t *testing.T) {
		l := openSetNX(t, s, 10*time.Second)
		lease := mustTake(t, l, t.Name())
		stopped(t, s)
		for what, ask := range map[string]func(context.Context, Lease) error{"check": l.Check, "release": l.Release} {
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			wantUnknown(t, what, ask(ctx, lease))
			cancel()
		}
	})

	t.Run("nobody there", func(t *testing.T) {
		l := openSetNX(t, s, 10*time.Second)
		lease := mustTake(t, l, t.Name())
		killed(t, s)
		await.That(t, "a connection that is known to be cut", func() bool {
			err := l.Check(soon(t), lease)
			return err != nil && !errors.As(err, new(Unknown))
		})
		_, err := take(t, l, t.Name())
		for what, err := range map[string]error{"acquire": err, "check": l.Check(soon(t), lease), "release": l.Release(soon(t), lease)} {
			if err == nil || errors.Is(err, ErrLost) || errors.Is(err, ErrHeld) || errors.As(err, new(Unknown)) {
				t.Errorf("%s with nobody there: %v, want a certain failure that tells nothing of the lock", what, err)
			}
		}
	})

	t.Run("the end of the wait", func(t *testing.T) {
		l := openSetNX(t, s, 20*time.Second)
		must(t, l.Wait(soon(t), t.Name(), false))
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		wantErr(t, "a wait after a failure", l.Wait(ctx, t.Name(), true), context.Canceled)
		wantErr(t, "a first wait", l.Wait(ctx, t.Name(), false), context.Canceled)
	})
}

// unanswered stops the server and makes an attempt that it does not answer.
func unanswered(t *testing.T, l *RedisSetNX, s *cluster.Server, key string) <-chan error {
	t.Helper()
	must(t, l.client.Ping(soon(t)).Err()) // connects
	quiet(t, s)
	stopped(t, s)
	attempted := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		_, err := l.Acquire(ctx, key, func(int64) {})
		attempted <- err
	}()
	return attempted
}
