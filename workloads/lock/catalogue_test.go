package lock

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/cluster/clustertest"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/internal/await"
	"github.com/torture-harness/torture/workloads/point"
)

// TestCatalogue puts every way to take a lock that keeps its word to the same
// test. Those that do not are tested one by one.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, cluster.Spec{Redis: 5, Etcd: 1, Postgres: true, MaxConnections: 100})
	one, five := c.Redis[:1], c.Redis
	servers := func(all []*cluster.Server) []Server {
		var out []Server
		for _, s := range all {
			out = append(out, serverOf(s))
		}
		return out
	}
	redis := func(options ...RedisOption) func(*testing.T, time.Duration) Locker {
		return func(t *testing.T, ttl time.Duration) Locker {
			return NewRedisSetNX(serverOf(one[0]), ttl, patience, 1, NewJitter(1, 1), options...)
		}
	}
	onRedis := func(nodes []*cluster.Server, open func(*testing.T, time.Duration) Locker) bench {
		return bench{open: open, values: valuesOf(nodes), nodes: len(nodes)}
	}
	for name, b := range map[string]bench{
		"redis-setnx-get-del": onRedis(one, redis(ReleasedByGetDel())),
		"redis-setnx-expire":  onRedis(one, redis(TakenInTwo())),
		"redis-incr-script":   onRedis(one, redis(Counted())),
		"redis-incr":          onRedis(one, func(t *testing.T, ttl time.Duration) Locker { return RedisIncr{redis()(t, ttl).(*RedisSetNX)} }),
		"redis-token-later": onRedis(one, func(t *testing.T, ttl time.Duration) Locker {
			return NewRedisTokenLater(serverOf(one[0]), ttl, patience, 1, NewJitter(1, 1))
		}),
		"redis-value-token": onRedis(one, redis(ValueToken())),
		"redislock": onRedis(one, func(t *testing.T, ttl time.Duration) Locker {
			return NewRedislock(serverOf(one[0]), ttl, patience, 1, NewJitter(1, 1))
		}),
		"redlock-late": onRedis(five, func(t *testing.T, ttl time.Duration) Locker {
			return NewRedlock(servers(five), ttl, patience, 1, NewJitter(1, 1), TrustLateReplies())
		}),
		"redsync": onRedis(five, func(t *testing.T, ttl time.Duration) Locker {
			return NewRedsync(servers(five), ttl, patience, 1, NewJitter(1, 1))
		}),
	} {
		t.Run(name, func(t *testing.T) {
			open := b.open
			b.open = func(t *testing.T, ttl time.Duration) Locker {
				l := open(t, ttl)
				t.Cleanup(func() { must(t, l.Close()) })
				return l
			}
			b.contract(t)
			t.Run("renewed and checked", b.renewed)
		})
	}
}

// renewed: a lease that is prolonged lasts longer than its first TTL, and then
// ends, and both the check and the renewal say so.
func (b bench) renewed(t *testing.T) {
	l, other, key := b.open(t, time.Second), b.open(t, 10*time.Second), t.Name()
	lease := mustTake(t, l, key)
	first := lease
	for range 4 {
		_ = Pause(context.Background(), lease.TTL/3)
		next, err := l.(Renewer).Renew(soon(t), lease)
		must(t, err)
		if next.Start <= lease.Start || next.TTL != lease.TTL || next.Value != lease.Value {
			t.Fatalf("renewed from %+v to %+v", lease, next)
		}
		lease = next
	}
	if lease.Start-first.Start < int64(first.TTL) {
		t.Fatal("it was renewed for less than its first lease")
	}
	must(t, l.(Checker).Check(soon(t), lease))
	_, err := take(t, other, key)
	wantErr(t, "an attempt on a renewed lock", err, ErrHeld)
	b.awaitGone(t, key)
	wantErr(t, "check after the end", l.(Checker).Check(soon(t), lease), ErrLost)
	_, err = l.(Renewer).Renew(soon(t), lease)
	wantErr(t, "renewal after the end", err, ErrLost)
	mustTake(t, other, key)
	wantErr(t, "check while another has it", l.(Checker).Check(soon(t), lease), ErrLost)
	_, err = l.(Renewer).Renew(soon(t), lease)
	wantErr(t, "renewal while another has it", err, ErrLost)
}

// TestUnsafeReleases: who was late deletes the lock of the next.
func TestUnsafeReleases(t *testing.T) {
	t.Parallel()
	s := clustertest.Start(t, cluster.Spec{Redis: 1}).Redis[0]
	open := func(t *testing.T, ttl time.Duration, options ...RedisOption) *RedisSetNX {
		l := NewRedisSetNX(serverOf(s), ttl, patience, 1, NewJitter(1, 1), options...)
		t.Cleanup(func() { must(t, l.Close()) })
		return l
	}
	b := bench{values: valuesOf([]*cluster.Server{s}), nodes: 1}
	next := open(t, 10*time.Second)

	t.Run("DEL", func(t *testing.T) {
		old, key := open(t, time.Second, ReleasedByDel()), t.Name()
		lease := mustTake(t, old, key)
		b.awaitGone(t, key)
		mustTake(t, next, key)
		must(t, old.Release(soon(t), lease))
		b.wantNothing(t, key)
		wantErr(t, "a second DEL", old.Release(soon(t), lease), ErrLost)
	})
	t.Run("GET, then DEL", func(t *testing.T) {
		old, key := open(t, time.Second, ReleasedByGetDel()), t.Name()
		lease := mustTake(t, old, key)
		reached := false
		held := point.With(soon(t), func(at string) {
			reached = at == point.Between
			b.awaitGone(t, key)
			mustTake(t, next, key)
		})
		must(t, old.Release(held, lease))
		if !reached {
			t.Error("nothing lies between GET and DEL")
		}
		b.wantNothing(t, key)
	})
	t.Run("one value for two holdings", func(t *testing.T) {
		l, key := open(t, time.Second, FixedValue("client")), t.Name()
		first := mustTake(t, l, key)
		b.awaitGone(t, key)
		mustTake(t, l, key)
		must(t, l.Release(soon(t), first))
		b.wantNothing(t, key)
	})
	t.Run("without NX", func(t *testing.T) {
		l, key := open(t, 10*time.Second, TakenAlways()), t.Name()
		mustTake(t, l, key)
		b.wantOwner(t, mustTake(t, l, key))
	})
	t.Run("without PX", func(t *testing.T) {
		l, key := open(t, time.Second, TakenForEver()), t.Name()
		mustTake(t, l, key)
		if ttl, err := look(t, s).PTTL(soon(t), key).Result(); err != nil || ttl != -1 {
			t.Errorf("its expiry is %v, %v", ttl, err)
		}
	})
	t.Run("SETNX, then EXPIRE", func(t *testing.T) {
		l, key := open(t, 10*time.Second, TakenInTwo()), t.Name()
		looked := false
		ctx := point.With(soon(t), func(string) {
			ttl, err := look(t, s).PTTL(soon(t), key).Result()
			looked = err == nil && ttl == -1
		})
		before := history.Now()
		lease, err := l.Acquire(ctx, key, func(int64) {})
		must(t, err)
		if !looked {
			t.Error("between the two the key has an expiry")
		}
		if lease.Start <= before {
			t.Error("the lease begins before the expiry was set")
		}
		if ttl := look(t, s).PTTL(soon(t), key).Val(); ttl <= 0 {
			t.Errorf("its expiry is %v", ttl)
		}
	})
}

// TestTokens: what each way to draw a token gives an old holder and a new one.
func TestTokens(t *testing.T) {
	t.Parallel()
	s := clustertest.Start(t, cluster.Spec{Redis: 1}).Redis[0]
	b := bench{values: valuesOf([]*cluster.Server{s}), nodes: 1}
	closing := func(l *RedisSetNX) *RedisSetNX {
		t.Cleanup(func() { must(t, l.Close()) })
		return l
	}
	open := func(options ...RedisOption) *RedisSetNX {
		return closing(NewRedisSetNX(serverOf(s), time.Second, patience, 1, NewJitter(1, 1), options...))
	}
	later := NewRedisTokenLater(serverOf(s), time.Second, patience, 1, NewJitter(1, 1))
	closing(later.RedisSetNX)
	for name, row := range map[string]struct {
		l         Locker
		old, next int64 // the tokens; the old one is drawn, if it is drawn, when the new holder has its own
	}{
		"by a separate INCR": {RedisIncr{open()}, 2, 1},
		"in the script":      {open(Counted()), 1, 2},
		"read back later":    {later, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			key := strings.ReplaceAll(t.Name(), " ", "-")
			token := func(lease Lease) int64 {
				drawer, ok := row.l.(Tokener)
				if !ok {
					return lease.Token
				}
				if lease.Token != 0 {
					t.Errorf("it has the token %d before it was drawn", lease.Token)
				}
				n, err := drawer.Token(soon(t), lease)
				must(t, err)
				return n
			}
			old := mustTake(t, row.l, key)
			b.awaitGone(t, key)
			next := token(mustTake(t, row.l, key))
			if got := token(old); got != row.old || next != row.next {
				t.Errorf("the old holder has %d and the new one %d, want %d and %d", got, next, row.old, row.next)
			}
		})
	}
	t.Run("the value", func(t *testing.T) {
		if !(inOrderOfText("a") < inOrderOfText("b") && inOrderOfText("B") < inOrderOfText("a") && inOrderOfText("a") < inOrderOfText("aa") && inOrderOfText("") == 0) {
			t.Error("the numbers of texts are not in their order")
		}
		l := open(ValueToken(), FixedValue("b"))
		if lease := mustTake(t, l, t.Name()); lease.Token != inOrderOfText("b") || lease.Value != "b" {
			t.Errorf("the lease is %+v", lease)
		}
	})
}

// TestEtcdMutex: the library's mutex, one session each and one for two.
func TestEtcdMutex(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, cluster.Spec{Etcd: 1})
	endpoints := []string{c.Etcd[0].Addr}
	open := func(t *testing.T, ttl time.Duration, options ...EtcdMutexOption) *EtcdMutex {
		l, err := NewEtcdMutex(endpoints, "", ttl, NewJitter(1, 1), options...)
		must(t, err)
		t.Cleanup(func() { must(t, l.Close()) })
		return l
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints})
	must(t, err)
	t.Cleanup(func() { _ = client.Close() })
	keys := func(t *testing.T, key string) []string {
		got, err := client.Get(soon(t), key+"/", clientv3.WithPrefix())
		must(t, err)
		var out []string
		for _, kv := range got.Kvs {
			out = append(out, string(kv.Key))
		}
		return out
	}
	for name, options := range map[string][]EtcdMutexOption{"a session each": nil, "one session": {OneSession()}} {
		t.Run(name, func(t *testing.T) {
			one, two, key := open(t, 5*time.Second, options...), open(t, 5*time.Second, options...), t.Name()
			first := mustTake(t, one, key)
			must(t, one.Check(soon(t), first))
			_, err := take(t, two, key)
			wantErr(t, "a second attempt", err, ErrHeld)
			must(t, one.Release(soon(t), first))
			wantErr(t, "a second release", one.Release(soon(t), first), ErrLost)
			if got := keys(t, key); len(got) != 0 {
				t.Errorf("left over: %q", got)
			}
			second := mustTake(t, two, key)
			if second.Token <= first.Token {
				t.Errorf("token %d after %d", second.Token, first.Token)
			}
			got, err := client.Get(soon(t), key+"/", clientv3.WithPrefix())
			must(t, err)
			if len(got.Kvs) != 1 || got.Kvs[0].CreateRevision != second.Token {
				t.Errorf("the key is %v, its token %d", got.Kvs, second.Token)
			}
			_, err = client.Revoke(soon(t), clientv3.LeaseID(second.ID))
			must(t, err)
			wantErr(t, "check after the end", two.Check(soon(t), second), ErrLost)
			wantErr(t, "release after the end", two.Release(soon(t), second), ErrLost)
			must(t, two.Release(soon(t), mustTake(t, two, key)))
		})
	}
	t.Run("two mutexes of one session are one", func(t *testing.T) {
		l, key := open(t, 5*time.Second, OneSession()), t.Name()
		first, second := mustTake(t, l, key), mustTake(t, l, key)
		if first.Token != second.Token {
			t.Errorf("the tokens are %d and %d", first.Token, second.Token)
		}
	})
	for name, row := range map[string]struct {
		option EtcdMutexOption
		ok     bool
	}{"as it is": {Blocking(), false}, "as it was": {BlockingUnchecked(), true}} {
		t.Run("a waiter whose lease has died, "+name, func(t *testing.T) {
			holder, waiter, key := open(t, 20*time.Second), open(t, 20*time.Second, row.option), t.Name()
			held := mustTake(t, holder, key)
			acquired := make(chan error, 1)
			ctx := soon(t)
			go func() {
				_, err := waiter.Acquire(ctx, key, func(int64) {})
				acquired <- err
			}()
			await.That(t, "the waiter's entry", func() bool { return len(keys(t, key)) == 2 })
			leases, err := client.Leases(soon(t))
			must(t, err)
			for _, l := range leases.Leases {
				info, err := client.TimeToLive(soon(t), l.ID, clientv3.WithAttachedKeys())
				must(t, err)
				if int64(l.ID) != held.ID && len(info.Keys) == 1 && strings.HasPrefix(string(info.Keys[0]), key+"/") {
					_, err = client.Revoke(soon(t), l.ID)
					must(t, err)
				}
			}
			select {
			case err := <-acquired:
				t.Fatalf("it returned while the lock was held: %v", err)
			default:
			}
			must(t, holder.Release(soon(t), held))
			if err := <-acquired; (err == nil) != row.ok || errors.As(err, new(Unknown)) {
				t.Errorf("granted: %v, want granted: %t", err, row.ok)
			}
		})
	}
}

// TestAdvisory: the lock of a session lasts as long as the session.
func TestAdvisory(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, cluster.Spec{Postgres: true})
	open := func() *Advisory {
		l := NewAdvisory(c.PostgresDSN(), "lock-test", 50*time.Millisecond, NewJitter(1, 1))
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	one, two, key := open(), open(), t.Name()
	first := mustTake(t, one, key)
	must(t, one.Check(soon(t), first))
	_, err := take(t, two, key)
	wantErr(t, "a second attempt", err, ErrHeld)
	must(t, one.Release(soon(t), first))
	wantErr(t, "check after the release", one.Check(soon(t), first), ErrLost)
	wantErr(t, "a second release", one.Release(soon(t), first), ErrLost)
	second := mustTake(t, two, key)

	admin, err := pgx.Connect(soon(t), c.PostgresDSN())
	must(t, err)
	t.Cleanup(func() { _ = admin.Close(context.Background()) })
	_, err = admin.Exec(soon(t), `SELECT pg_terminate_backend($1)`, second.ID)
	must(t, err)
	await.That(t, "the lock of a session that ended", func() bool {
		lease, err := take(t, one, key)
		return err == nil && one.Release(soon(t), lease) == nil
	})
	if err := two.Release(soon(t), second); err == nil {
		t.Error("the release of a session that ended is ok")
	}
	third := mustTake(t, two, key)
	wantErr(t, "release of the lost one", two.Release(soon(t), second), ErrLost)
	must(t, two.Release(soon(t), third))
}
