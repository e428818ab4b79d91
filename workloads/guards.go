package workloads

import "github.com/torture-harness/torture/workloads/guard"

// The guards. Whatever is said to be broken is so on purpose.
var (
	plain   = GuardKind{Name: "plain", About: "UPDATE by id alone: the last one wins", Guard: guard.Plain{}}
	fenced  = fence("fenced", "UPDATE … AND last_fence < token: refuses once a newer grant has written", guard.Fenced{})
	claim   = GuardKind{Name: "claim", About: "the fence is raised when a holder reads: refuses once a newer grant has read", Tokens: true, Claims: true, Guard: guard.Claim{}}
	version = GuardKind{Name: "version", About: "UPDATE … AND version = v: refuses once anybody has written", Guard: guard.Version{}}

	fencedLE     = fence("fenced-le", "the same with last_fence <= token", guard.FencedLE{})
	fenceTwo     = inTwo(fence("fence-two-statements", "SELECT last_fence, then UPDATE by id alone", guard.FenceTwo{}))
	fenceTx      = inTwo(fence("fence-transaction", "the same in one transaction", guard.FenceTwo{Transaction: true}))
	fenceLocked  = fence("fence-for-update", "the same with SELECT … FOR UPDATE", guard.FenceTwo{Transaction: true, Locked: true})
	contentFirst = fence("fence-content-first", "the content in one statement, its number in the next", guard.FenceContentFirst{})
	unlogged     = fence("fence-unlogged", "the numbers in an UNLOGGED table", guard.FenceUnlogged{})
	trigger      = fence("fence-trigger", "fenced, and a trigger compares again at every entry", guard.FenceTrigger{})
	next         = fence("fence-next", "UPDATE … AND last_fence = token - 1: no number may be left out", guard.FenceNext{})
	inMemory     = GuardKind{Name: "fence-memory", About: "the numbers in the memory of a process, compared before the UPDATE", Tokens: true, New: fenceInMemory}
	inRedis      = GuardKind{Name: "fence-redis", About: "the numbers in a Redis, compared before the UPDATE", Tokens: true, Needs: Needs{Redis: 1}, New: fenceInRedis}

	fencedOpen     = fence("fenced-open", "fenced, in a transaction that stays open behind the statement", guard.FencedOpen{})
	fencedBack     = fence("fenced-rolled-back", "the same, rolled back in the end", guard.FencedOpen{RollBack: true})
	fencedRepeat   = fence("fenced-repeatable-read", "the same under REPEATABLE READ, committed", guard.FencedOpen{Isolation: "REPEATABLE READ"})
	fencedSerial   = fence("fenced-serializable", "the same under SERIALIZABLE", guard.FencedOpen{Isolation: "SERIALIZABLE"})
	fencedNull     = fence("fenced-null", "fenced, on a table whose numbers begin as NULL", guard.On{Guard: guard.Fenced{}, Is: guard.Nullable()})
	fencedDoubled  = fence("fenced-doubled", "fenced, on a table without a key that has every row twice", guard.On{Guard: guard.Fenced{}, Is: guard.Doubled()})
	fencedMissing  = fence("fenced-missing", "fenced, on a table without rows", guard.On{Guard: guard.Fenced{}, Is: guard.Empty()})
	claimGE        = GuardKind{Name: "claim-ge", About: "claim, whose write demands only last_fence >= its number: broken", Tokens: true, Claims: true, Guard: guard.ClaimGE{}}
	fenceUnchecked = fence("fence-unchecked", "the number is kept and not compared: broken", guard.FenceUnchecked{})
	fenceFirst     = fence("fence-first", "fenced, but a row that nobody had written yet is written by id alone: broken", guard.FenceFirst{})
	fenceTurned    = fence("fence-turned", "the comparison is the wrong way round: broken", guard.FenceTurned{})

	fenceText = GuardKind{Name: "fence-text", About: "UPDATE … AND last_value < value: random values compared as text", Tokens: true, Values: true, Guard: guard.FenceText{}}
	owner     = GuardKind{Name: "owner-cas", About: "the row is marked with the holding's value at the read, and the write demands the mark", Owner: true, Claims: true, Guard: guard.Owner{}}
	rowLock   = GuardKind{Name: "row-lock", About: "SELECT … FOR UPDATE in the transaction that writes", Guard: guard.RowLock{}}

	idempotency = GuardKind{Name: "idempotency", About: "each request once, by its name; then UPDATE by id alone", Guard: guard.Idempotency{}}
	forgetful   = GuardKind{Name: "idempotency-no-key", About: "the same without a key on the names: broken", Guard: guard.On{Guard: guard.Idempotency{}, Is: guard.Forgetful()}}

	etcdTxn      = inEtcd("etcd-txn", "etcd is the store, whose transaction demands that the key of the lock is still that of the grant", false)
	etcdTxnBlind = inEtcd("etcd-txn-unconditional", "the same without the demand: broken", true)

	sink        = GuardKind{Name: "sink", About: "a table that is only appended to and checks nothing: the last record counts", Guard: guard.Sink{}}
	sinkOnce    = GuardKind{Name: "sink-idempotency", About: "the same, each request once", Guard: guard.SinkOnce{}}
	sinkVersion = GuardKind{Name: "sink-version", About: "the same, only the next version after the one read", Guard: guard.SinkVersion{}}
)

func fence(name, about string, g guard.Guard) GuardKind {
	return GuardKind{Name: name, About: about, Tokens: true, Guard: g}
}

// inEtcd is a guard whose rows are in etcd. Its tokens must be the revisions
// that created the keys of etcd's lock.
func inEtcd(name, about string, unconditional bool) GuardKind {
	return GuardKind{Name: name, About: about, Tokens: true, Needs: Needs{Etcd: true}, Guard: guard.EtcdTxn{},
		New: func(p Places) (guard.Guard, error) { return guard.NewEtcdTxn(p.Etcd, unconditional) }}
}

func inTwo(g GuardKind) GuardKind {
	g.Two = true
	return g
}

func fenceInRedis(p Places) (guard.Guard, error) {
	return guard.NewFenceRedis(p.Redis[0].Addr, p.Redis[0].Password), nil
}

func fenceInMemory(p Places) (guard.Guard, error) { return guard.NewFenceMemory(p.Keeper) }

// Guards lists every way to accept a write.
var Guards = []GuardKind{
	plain, fenced, claim, version,
	fencedLE, fenceTwo, fenceTx, fenceLocked, contentFirst, unlogged, trigger, next, inRedis, inMemory,
	fencedOpen, fencedBack, fencedRepeat, fencedSerial, fencedNull, fencedDoubled, fencedMissing, claimGE, fenceUnchecked, fenceTurned, fenceFirst,
	fenceText, owner, rowLock, idempotency, forgetful, sink, sinkOnce, sinkVersion, etcdTxn, etcdTxnBlind,
}

// At is the guard with its connections, if it asks other servers too.
func (g GuardKind) At(p Places) (GuardKind, error) {
	if g.New == nil {
		return g, nil
	}
	made, err := g.New(p)
	g.Guard = made
	return g, err
}

// Documents is where the guard's documents are, if not in PostgreSQL: the
// endpoints of etcd.
func (g GuardKind) Documents(p Places) []string {
	if g.Needs.Etcd {
		return p.Etcd
	}
	return nil
}

// Tables are what the guard works on.
func (g GuardKind) Tables() guard.Tables { return guard.TablesOf(g.Guard) }
