package workloads

import (
	"github.com/torture-harness/torture/workloads/guard"
	"github.com/torture-harness/torture/workloads/lock"
)

// The lockers.
var (
	redisSetNX = LockerKind{
		Name: "redis-setnx", About: "SET key random NX PX ttl on one Redis; released by a Lua compare-and-delete",
		LeaseBy: "redis", Needs: Needs{Redis: 1},
		New: func(p Places, o LockerOptions) (lock.Locker, error) {
			return lock.NewRedisSetNX(p.Redis[0], o.TTL, o.Patience, o.Clients, o.Jitter), nil
		},
	}
	redlock = LockerKind{
		Name: "redlock", About: "a majority of five independent Redis masters; elapsed time and drift subtracted",
		LeaseBy: "redis", Needs: Needs{Redis: 5},
		New: func(p Places, o LockerOptions) (lock.Locker, error) {
			return lock.NewRedlock(p.Redis, o.TTL, o.Patience, o.Clients, o.Jitter), nil
		},
	}
	etcd = LockerKind{
		Name: "etcd", About: "a key with a lease, put by one transaction if absent; its revision is the fencing token",
		LeaseBy: "etcd", Tokens: true, Needs: Needs{Etcd: true},
		New: func(p Places, o LockerOptions) (lock.Locker, error) {
			return lock.NewEtcd(p.Etcd, o.Prefix, o.TTL, o.Jitter)
		},
	}
)

// Lockers lists every way to take a lock.
var Lockers = []LockerKind{redisSetNX, redlock, etcd}

// The guards.
var (
	plain   = GuardKind{Name: "plain", About: "UPDATE by id alone: the last one wins", Guard: guard.Plain{}}
	fenced  = GuardKind{Name: "fenced", About: "UPDATE … AND last_fence < token: refuses once a newer grant has written", Tokens: true, Guard: guard.Fenced{}}
	claim   = GuardKind{Name: "claim", About: "the fence is raised when a holder reads: refuses once a newer grant has read", Tokens: true, Claims: true, Guard: guard.Claim{}}
	version = GuardKind{Name: "version", About: "UPDATE … AND version = v: refuses once anybody has written", Guard: guard.Version{}}
)

// Guards lists every way to accept a write.
var Guards = []GuardKind{plain, fenced, claim, version}

// Strategies lists the presets. Each is one entry: a locker, a guard, a contract.
var Strategies = []Strategy{
	{Name: "setnx", About: "the usual Redis lock", Locker: redisSetNX, Guard: plain, Contract: plainStore},
	{Name: "redlock", About: "five Redis masters instead of one", Locker: redlock, Guard: plain, Contract: plainStore},
	{Name: "etcd-plain", About: "a consensus-backed lock whose token is thrown away", Locker: etcd, Guard: plain, Contract: plainStore},
	{Name: "etcd-fenced", About: "the store refuses tokens lower than the last it accepted", Locker: etcd, Guard: fenced, Contract: fencedStore},
	{Name: "etcd-claim", About: "the fence rises as soon as the new holder reads", Locker: etcd, Guard: claim, Contract: claimStore},
	{Name: "version-cas", About: "no lock: the write names the version it was computed from", Guard: version, Contract: versionStore},
	{Name: "setnx-check", About: "setnx, and the client asks Redis once more before it writes", Locker: redisSetNX, Guard: plain, Check: true, Extra: true, Contract: checkedStore},
}
