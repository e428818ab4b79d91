package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// EtcdMutex is the mutex of etcd's own library
// (https://pkg.go.dev/go.etcd.io/etcd/client/v3/concurrency): TryLock in our
// loop, one Session per holding, whose background goroutine keeps the lease
// alive. Its times are hidden, so the lease is counted from the request that
// began it, which is too short and never too long. The token is the revision
// that created the lock's key.
type EtcdMutex struct {
	client *clientv3.Client
	ttl    time.Duration
	jitter *Jitter
	keys   *presence
	stop   context.CancelFunc
	ways   mutexWays

	mu     sync.Mutex
	shared *session             // one for all, if it is shared
	held   map[string]*mutexing // by the value of the lease
}

type session struct {
	*concurrency.Session
	lease Lease
}

// mutexing is one holding.
type mutexing struct {
	mutex
	session *session
}

// mutex is what is used of the library's.
type mutex interface {
	Lock(context.Context) error
	TryLock(context.Context) error
	Unlock(context.Context) error
	Key() string
	IsOwner() clientv3.Cmp
}

type mutexWays struct {
	share     bool
	block     bool
	unchecked bool
}

// EtcdMutexOption changes how the library is used.
type EtcdMutexOption func(*mutexWays)

// OneSession shares one session among all clients of the locker. Two mutexes of
// one key on one session are one and the same lock, held twice.
func OneSession() EtcdMutexOption { return func(w *mutexWays) { w.share = true } }

// Blocking waits inside the library's Lock() instead of trying. Grants then
// overlap, so it is of use where nobody asks which is the older.
func Blocking() EtcdMutexOption { return func(w *mutexWays) { w.block = true } }

// BlockingUnchecked waits as Lock() did up to etcd 3.4.3, without asking after
// the wait whether its own key still exists. Broken on purpose.
func BlockingUnchecked() EtcdMutexOption {
	return func(w *mutexWays) { w.block, w.unchecked = true, true }
}

// NewEtcdMutex connects to the members; all keys lie under prefix.
func NewEtcdMutex(endpoints []string, prefix string, ttl time.Duration, jitter *Jitter, options ...EtcdMutexOption) (*EtcdMutex, error) {
	client, err := dialEtcd(endpoints)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &EtcdMutex{client: client, ttl: ttl, jitter: jitter, keys: newPresence(), stop: cancel, held: map[string]*mutexing{}}
	for _, o := range options {
		o(&l.ways)
	}
	go l.keys.follow(ctx, client, prefix)
	return l, nil
}

// Wait returns once nobody is seen to have the lock, and nobody was faster
// within TTL/20. Where the library waits itself it returns at once.
func (l *EtcdMutex) Wait(ctx context.Context, key string, again bool) error {
	if l.ways.block {
		if !again {
			return ctx.Err()
		}
		return Pause(ctx, l.jitter.UpTo(l.ttl/20))
	}
	if l.ways.share && !again { // the holder may be on the same session, and then nobody has to wait
		return ctx.Err()
	}
	return l.keys.awaitNone(ctx, key+"/", func() time.Duration { return l.jitter.UpTo(l.ttl / 20) })
}

// Acquire is one TryLock, or one Lock.
func (l *EtcdMutex) Acquire(ctx context.Context, key string, sent func(int64)) (Lease, error) {
	s, err := l.session(ctx)
	if err != nil {
		return Lease{}, err
	}
	lease := s.lease
	lease.Key, lease.Value = key, newValue()
	m := &mutexing{mutex: concurrency.NewMutex(s.Session, key), session: s}
	if l.ways.unchecked {
		m.mutex = &unchecked{client: l.client, lease: s.Lease(), prefix: key + "/"}
	}
	sent(lease.Start)
	if l.ways.block {
		err = m.Lock(ctx)
	} else {
		err = m.TryLock(ctx)
	}
	if err != nil {
		l.end(ctx, s)
		switch {
		case errors.Is(err, concurrency.ErrLocked):
			return Lease{}, ErrHeld
		case errors.Is(err, concurrency.ErrSessionExpired):
			return Lease{}, fmt.Errorf("lock: %w", err)
		}
		return Lease{}, etcdError("lock", err)
	}
	lease.Token = created(m)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[lease.Value] = m
	return lease, nil
}

// created is the revision that created the mutex's key. The library keeps it to
// itself and hands out only a comparison with it.
func created(m mutex) int64 {
	owner := pb.Compare(m.IsOwner())
	return owner.GetCreateRevision()
}

// session is a fresh one, or the shared one, whose lease then counts from now.
func (l *EtcdMutex) session(ctx context.Context) (*session, error) {
	if !l.ways.share {
		return l.open(ctx)
	}
	l.mu.Lock()
	s := l.shared
	l.mu.Unlock()
	if s != nil {
		lease, err := keepAliveOnce(ctx, l.client, s.lease)
		if err == nil {
			return &session{s.Session, lease}, nil
		}
		if !errors.Is(err, ErrLost) {
			return nil, fmt.Errorf("keep the session alive: %w", err)
		}
	}
	return l.replace(ctx, s)
}

// replace opens a session in the place of one that is over, once for all who
// have noticed.
func (l *EtcdMutex) replace(ctx context.Context, over *session) (*session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shared != over {
		return l.shared, nil
	}
	s, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	if over != nil {
		over.Orphan()
	}
	l.shared = s
	return s, nil
}

func (l *EtcdMutex) open(ctx context.Context) (*session, error) {
	lease, err := grantLease(ctx, l.client, l.ttl)
	if err != nil {
		return nil, err
	}
	s, err := concurrency.NewSession(l.client, concurrency.WithLease(clientv3.LeaseID(lease.ID)))
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	return &session{s, lease}, nil
}

// end ends the session of an attempt that failed, if it was its own.
func (l *EtcdMutex) end(ctx context.Context, s *session) {
	if !l.ways.share {
		s.Orphan()
		revoke(ctx, l.client, s.lease, l.ttl)
	}
}

func (l *EtcdMutex) holding(lease Lease) (*mutexing, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.held[lease.Value]; m != nil {
		return m, nil
	}
	return nil, errors.New("this process does not hold that lock")
}

// Check asks for the lock's key.
func (l *EtcdMutex) Check(ctx context.Context, lease Lease) error {
	m, err := l.holding(lease)
	if err != nil {
		return err
	}
	got, err := l.client.Get(ctx, m.Key())
	switch {
	case err != nil:
		return etcdError("check", err)
	case len(got.Kvs) == 1 && got.Kvs[0].CreateRevision == lease.Token:
		return nil
	default:
		return ErrLost
	}
}

// Lost is closed once the session knows that its lease is over. It asks nobody.
func (l *EtcdMutex) Lost(lease Lease) <-chan struct{} {
	m, err := l.holding(lease)
	if err != nil {
		return nil
	}
	return m.session.Done()
}

// Release unlocks, and ends a session of its own. Unlock does not say whether
// the key was still there; the end of the lease does, or, for a session that
// goes on, a look before.
func (l *EtcdMutex) Release(ctx context.Context, lease Lease) error {
	m, err := l.holding(lease)
	if err != nil {
		return ErrLost // given back already
	}
	var before error
	if l.ways.share {
		before = l.Check(ctx, lease)
	}
	err = m.Unlock(ctx)
	l.mu.Lock()
	delete(l.held, lease.Value)
	l.mu.Unlock()
	if l.ways.share {
		if err != nil {
			return etcdError("unlock", err)
		}
		return before
	}
	m.session.Orphan()
	return revoked(l.client.Revoke(ctx, clientv3.LeaseID(lease.ID)))
}

// Close ends the sessions, the watch and the connection.
func (l *EtcdMutex) Close() error {
	l.stop()
	return l.client.Close() // which ends every session's goroutine
}
