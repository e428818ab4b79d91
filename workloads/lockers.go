package workloads

import (
	"github.com/torture-harness/torture/workloads/lock"
)

// The lockers. Whatever is said to be broken is so on purpose: it shows that the
// harness can see.
var (
	redisSetNX = oneRedis("redis-setnx", "SET key random NX PX ttl on one Redis; released by a Lua compare-and-delete")
	setNXDel   = oneRedis("redis-setnx-del", "the same, released by a plain DEL", lock.ReleasedByDel())
	setNXGet   = oneRedis("redis-setnx-get-del", "the same, released by GET and then DEL", lock.ReleasedByGetDel())
	setNXFixed = LockerKind{
		Name: "redis-setnx-fixed", About: "the same, with one value for all holdings of a client",
		LeaseBy: "redis", Renews: true, Needs: Needs{Redis: 1},
		New: func(p Places, o LockerOptions) (lock.Locker, error) {
			return o.redis(p, lock.FixedValue(o.value())), nil
		},
	}
	setNXExpire  = oneRedis("redis-setnx-expire", "SETNX, then EXPIRE: two commands", lock.TakenInTwo())
	setAlways    = oneRedis("redis-set", "SET without NX: broken", lock.TakenAlways())
	silenceYes   = oneRedis("redis-setnx-silence-yes", "SET NX PX, an answer that is lost taken for success: broken", lock.SilenceIsYes())
	silenceNo    = oneRedis("redis-setnx-silence-no", "the same, taken for a refusal, and nothing cleaned up", lock.SilenceIsNo())
	setRetried   = oneRedis("redis-setnx-retried", "the same, with the retries of the library", lock.LibraryRetries())
	setForEver   = oneRedis("redis-setnx-forever", "SET NX without an expiry: broken", lock.TakenForEver())
	redisCounted = withTokens(oneRedis("redis-incr-script", "SET NX PX and INCR in one Lua script, which returns the token", lock.Counted()))
	countedDel   = withTokens(oneRedis("redis-incr-script-del", "the same, released by a plain DEL", lock.Counted(), lock.ReleasedByDel()))
	redisIncr    = LockerKind{
		Name: "redis-incr", About: "SET NX PX, and the token by an INCR of its own afterwards",
		LeaseBy: "redis", Renews: true, Tokens: true, Draws: true, Needs: Needs{Redis: 1},
		New: func(p Places, o LockerOptions) (lock.Locker, error) {
			return lock.RedisIncr{RedisSetNX: o.redis(p)}, nil
		},
	}
	tokenLater = LockerKind{
		Name: "redis-token-later", About: "SET NX PX and INCR in one script, and the token read back from the counter afterwards",
		LeaseBy: "redis", Renews: true, Tokens: true, Draws: true, Needs: Needs{Redis: 1},
		New: func(p Places, o LockerOptions) (lock.Locker, error) {
			return lock.NewRedisTokenLater(p.Redis[0], o.TTL, o.Patience, o.Clients, o.Jitter), nil
		},
	}
	valueToken = LockerKind{
		Name: "redis-value-token", About: "SET NX PX, whose random value is taken for a token",
		LeaseBy: "redis", Renews: true, Tokens: true, Values: true, Needs: Needs{Redis: 1},
		New: func(p Places, o LockerOptions) (lock.Locker, error) {
			return o.redis(p, lock.ValueToken(), lock.FixedValue(o.Value)), nil
		},
	}
	redislock = LockerKind{
		Name: "redislock", About: "the library bsm/redislock on one Redis",
		LeaseBy: "redis", Renews: true, Needs: Needs{Redis: 1},
		New: func(p Places, o LockerOptions) (lock.Locker, error) {
			return lock.NewRedislock(p.Redis[0], o.TTL, o.Patience, o.Clients, o.Jitter), nil
		},
	}

	redlock      = fiveRedis("redlock", "a majority of five independent Redis masters; elapsed time and drift subtracted")
	redlockLate  = fiveRedis("redlock-late", "the same without the second reading of the clock", lock.TrustLateReplies())
	redlockTwo   = fiveRedis("redlock-minority", "the same with two of five for a quorum: broken", lock.Quorum(2))
	redlockSlow  = fiveRedis("redlock-slow", "the same, and a node may take twice the lease to answer: broken", lock.PerNodeLeases(2))
	redlockDrift = fiveRedis("redlock-no-drift", "the same without the drift of the clocks: broken", lock.WithoutDrift())
	redlockTaken = fiveRedis("redlock-release-yes", "the same, and a failed attempt is released only where yes was read: broken", lock.ReleasedWhereTaken())
	redsync      = libraryRedsync("redsync", "the library redsync on five Redis masters")
	redsyncTill  = libraryRedsync("redsync-until", "the same, and a check looks at its own clock only (Until)", lock.CheckUntil())
	redsyncDef   = libraryRedsync("redsync-defaults", "the same on go-redis as it is by default: retries, 5 s for an answer", lock.GoRedisDefaults())
	redsyncCtx   = libraryRedsync("redsync-timeouts", "the same with go-redis' ContextTimeoutEnabled", lock.GoRedisContextTimeout())

	etcd       = consensus("etcd", "a key with a lease, put by one transaction if absent; its revision is the fencing token")
	etcdAlways = consensus("etcd-unconditional", "the same without the condition: broken", lock.WithoutComparison())

	etcdMutex     = libraryMutex("etcd-mutex", "etcd's concurrency.Mutex, a session for each holding; the key's create_revision is the token")
	etcdShared    = libraryMutex("etcd-mutex-shared", "the same on one session of the worker", lock.OneSession())
	etcdWaiting   = libraryMutex("etcd-mutex-wait", "the same, waiting in the library's blocking Lock()", lock.Blocking())
	etcdUnchecked = libraryMutex("etcd-mutex-unchecked", "the same as Lock() was up to etcd 3.4.3: broken", lock.BlockingUnchecked())

	advisory = LockerKind{
		Name: "pg-advisory", About: "pg_advisory_lock of PostgreSQL, on a session of its own; it has no lease",
		Needs: Needs{Sessions: true},
		New: func(p Places, o LockerOptions) (lock.Locker, error) {
			return lock.NewAdvisory(p.Postgres, o.Prefix+"lock", o.TTL/20, o.Jitter), nil
		},
	}
)

// Lockers lists every way to take a lock.
var Lockers = []LockerKind{
	redisSetNX, setNXDel, setNXGet, setNXFixed, setNXExpire, setAlways, setForEver, silenceYes, silenceNo, setRetried,
	redisCounted, countedDel, redisIncr, tokenLater, valueToken, redislock,
	redlock, redlockLate, redlockTwo, redlockSlow, redlockDrift, redlockTaken, redsync, redsyncTill, redsyncDef, redsyncCtx,
	etcd, etcdAlways, etcdMutex, etcdShared, etcdWaiting, etcdUnchecked, advisory,
}

func (o LockerOptions) redis(p Places, options ...lock.RedisOption) *lock.RedisSetNX {
	return lock.NewRedisSetNX(p.Redis[0], o.TTL, o.Patience, o.Clients, o.Jitter, options...)
}

// value is the one of every attempt.
func (o LockerOptions) value() string {
	if o.Value != "" {
		return o.Value
	}
	return lock.NewValue()
}

func oneRedis(name, about string, options ...lock.RedisOption) LockerKind {
	return LockerKind{Name: name, About: about, LeaseBy: "redis", Renews: true, Needs: Needs{Redis: 1},
		New: func(p Places, o LockerOptions) (lock.Locker, error) { return o.redis(p, options...), nil }}
}

func withTokens(l LockerKind) LockerKind {
	l.Tokens = true
	return l
}

func fiveRedis(name, about string, options ...lock.RedlockOption) LockerKind {
	return LockerKind{Name: name, About: about, LeaseBy: "redis", Renews: true, Needs: Needs{Redis: 5},
		New: func(p Places, o LockerOptions) (lock.Locker, error) {
			return lock.NewRedlock(p.Redis, o.TTL, o.Patience, o.Clients, o.Jitter, append([]lock.RedlockOption{lock.PerNode(o.PerNode)}, options...)...), nil
		}}
}

func libraryRedsync(name, about string, options ...lock.RedsyncOption) LockerKind {
	return LockerKind{Name: name, About: about, LeaseBy: "redis", Renews: true, Needs: Needs{Redis: 5},
		New: func(p Places, o LockerOptions) (lock.Locker, error) {
			return lock.NewRedsync(p.Redis, o.TTL, o.Patience, o.Clients, o.Jitter, options...), nil
		}}
}

func consensus(name, about string, options ...lock.EtcdOption) LockerKind {
	return LockerKind{Name: name, About: about, LeaseBy: "etcd", Tokens: true, Renews: true, Needs: Needs{Etcd: true},
		New: func(p Places, o LockerOptions) (lock.Locker, error) {
			return lock.NewEtcd(p.Etcd, o.Prefix, o.TTL, o.Jitter, options...)
		}}
}

func libraryMutex(name, about string, options ...lock.EtcdMutexOption) LockerKind {
	return LockerKind{Name: name, About: about, LeaseBy: "etcd", Tokens: true, Needs: Needs{Etcd: true},
		New: func(p Places, o LockerOptions) (lock.Locker, error) {
			return lock.NewEtcdMutex(p.Etcd, o.Prefix, o.TTL, o.Jitter, options...)
		}}
}
