package workloads

// Strategies lists the presets. Each is one entry: a locker, a guard, perhaps
// habits, and a contract.
var Strategies = append([]Strategy{
	{Name: "setnx", About: "the usual Redis lock", Locker: redisSetNX, Guard: plain, Contract: plainStore},
	{Name: "setnx-renew", About: "setnx, renewed in the same process; no write once the lease is known to be lost", Locker: redisSetNX, Guard: plain, Renew: RenewInside, Contract: renewedStore},
	{Name: "setnx-check", About: "setnx, and the client asks Redis once more before it writes", Locker: redisSetNX, Guard: plain, Check: true, Contract: checkedStore},
	{Name: "redlock", About: "five Redis masters instead of one", Locker: redlock, Guard: plain, Contract: plainStore},
	{Name: "etcd-plain", About: "a consensus-backed lock whose token is thrown away", Locker: etcd, Guard: plain, Contract: plainStore},
	{Name: "etcd-fenced", About: "the store refuses tokens lower than the last it accepted", Locker: etcd, Guard: fenced, Contract: fencedStore},
	{Name: "etcd-claim", About: "the fence rises as soon as the new holder reads", Locker: etcd, Guard: claim, Contract: claimStore},
	{Name: "version-cas", About: "no lock: the write names the version it was computed from", Guard: version, Contract: versionStore},
}, extras(
	// How the lock is taken and given back.
	Strategy{Name: "setnx-expire", About: "SETNX, then EXPIRE: two commands", Locker: setNXExpire, Guard: plain, Contract: expiringStore},
	Strategy{Name: "setnx-del", About: "setnx, released by a plain DEL", Locker: setNXDel, Guard: plain, Contract: delStore},
	Strategy{Name: "setnx-get-del", About: "setnx, released by GET and then DEL", Locker: setNXGet, Guard: plain, Contract: unsafeRelease},
	Strategy{Name: "setnx-fixed-value", About: "setnx, with one value for all holdings of a client", Locker: setNXFixed, Guard: plain, Contract: unsafeRelease},
	Strategy{Name: "setnx-renew-outside", About: "setnx, renewed by a process of its own", Locker: redisSetNX, Guard: plain, Renew: RenewOutside, Contract: outsideStore},
	Strategy{Name: "setnx-renew-ignore", About: "setnx, renewed in the same process, and a lost lease is ignored", Locker: redisSetNX, Guard: plain, Renew: RenewInside, Ignore: true, Contract: renewedStore},
	Strategy{Name: "redlock-late", About: "Redlock without the second reading of the clock", Locker: redlockLate, Guard: plain, Contract: plainStore},
	Strategy{Name: "redsync", About: "the library redsync, a Redlock", Locker: redsync, Guard: plain, Contract: plainStore},
	Strategy{Name: "redislock", About: "the library bsm/redislock", Locker: redislock, Guard: plain, Contract: plainStore},
	Strategy{Name: "etcd-mutex", About: "etcd's concurrency.Mutex, a session for each holding", Locker: etcdMutex, Guard: plain, Contract: renewedStore},
	Strategy{Name: "etcd-mutex-shared", About: "etcd's concurrency.Mutex, one session for each process", Locker: etcdShared, Guard: plain, Contract: renewedStore},
	Strategy{Name: "advisory-lock", About: "an advisory lock of PostgreSQL, on a session of its own", Locker: advisory, Guard: plain, Contract: sleeplessStore},
	Strategy{Name: "no-lock", About: "no lock and no check: the control", Guard: plain, Contract: nothing},

	// Where the token comes from.
	Strategy{Name: "setnx-incr", About: "the token by a separate INCR; the store compares rightly", Locker: redisIncr, Guard: fenced, Contract: drawnLate},
	Strategy{Name: "setnx-incr-script", About: "the token by INCR in the script that takes the lock", Locker: redisCounted, Guard: fenced, Contract: fencedStore},
	Strategy{Name: "setnx-token-later", About: "the token read back after the lock was taken, and compared with <=", Locker: tokenLater, Guard: fencedLE, Contract: drawnLate},

	// How the store checks.
	Strategy{Name: "fence-two-statements", About: "the number compared in one statement, the write in the next", Locker: etcd, Guard: fenceTwo, Contract: checkedStore},
	Strategy{Name: "fence-transaction", About: "the same in one transaction", Locker: etcd, Guard: fenceTx, Contract: checkedStore},
	Strategy{Name: "fence-for-update", About: "the same, the row locked by the first", Locker: etcd, Guard: fenceLocked, Contract: fencedStore},
	Strategy{Name: "fence-unlogged", About: "the numbers in an UNLOGGED table, lost only by a crash", Locker: etcd, Guard: unlogged, Contract: fencedStore},
	Strategy{Name: "fence-bypass", About: "every other write uses a second entry that does not check", Locker: etcd, Guard: fenced, Bypass: &plain, Contract: bypassedStore},
	Strategy{Name: "fence-trigger", About: "a trigger compares at every entry", Locker: etcd, Guard: trigger, Contract: fencedStore},
	Strategy{Name: "fence-next", About: "only the next number is accepted, and revisions have gaps", Locker: etcd, Guard: next, Contract: stuckStore},
	Strategy{Name: "etcd-txn", About: "etcd is the store too: its transaction demands that the lock's key is still the grant's", Locker: etcd, Guard: etcdTxn, Contract: etcdStore},
	Strategy{Name: "setnx-owner", About: "the lock's random value marks the row and is demanded at the write", Locker: redisSetNX, Guard: owner, Contract: versionStore},
	Strategy{Name: "row-lock", About: "SELECT … FOR UPDATE in the transaction that writes: PostgreSQL's own lock", Guard: rowLock, Contract: sleeplessStore},
	Strategy{Name: "idempotency-key", About: "setnx, and each request is done once", Locker: redisSetNX, Guard: idempotency, Contract: plainStore},
	Strategy{Name: "sink", About: "a resource that only appends, whatever the lock", Locker: etcd, Guard: sink, Contract: plainStore},
	Strategy{Name: "retry-old-content", About: "etcd-fenced, and a refused client resubmits its old content under a new token", Locker: etcd, Guard: fenced, RetryOld: true, Contract: fencedStore},
)...)

// Planted are strategies with a bug, behind the contract of one that has none:
// what a harness must find, and what not every way of looking finds. They run only
// when they are named.
var Planted = []Strategy{
	{Name: "planted-first-write", About: "etcd-fenced with a check, and a shortcut for rows that nobody has written yet: broken", Locker: etcd, Guard: fenceFirst, Check: true, Extra: true, Contract: fencedStore},
}

// extras are compared only when asked for.
func extras(all ...Strategy) []Strategy {
	for i := range all {
		all[i].Extra = true
	}
	return all
}
