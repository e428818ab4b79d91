package lock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/torture-harness/torture/harness/history"
)

// Redsync is Redlock as the library redsync does it
// (https://github.com/go-redsync/redsync): one try per attempt, in our loop. Its
// lease is counted from the call of the library, which is at the earliest.
type Redsync struct {
	clients []*redis.Client
	sync    *redsync.Redsync
	ttl     time.Duration
	jitter  *Jitter
	timeout float64
	until   *sync.Map // value to the end of its validity, if that is what Check looks at
}

// RedsyncOption changes how the library is used.
type RedsyncOption func(*redsyncWays)

type redsyncWays struct {
	dial    func(Server) *redis.Client
	timeout float64
	until   bool
}

// CheckUntil has Check look at the library's Until(), the end of the lock's
// validity by its own clock and reckoning, and ask nobody.
func CheckUntil() RedsyncOption { return func(w *redsyncWays) { w.until = true } }

// GoRedisDefaults connects as somebody does who sets nothing: three retries,
// five seconds for an answer, and deadlines of a context not obeyed.
func GoRedisDefaults() RedsyncOption {
	return func(w *redsyncWays) {
		w.timeout = 0.05 // redsync's default
		w.dial = func(s Server) *redis.Client {
			return redis.NewClient(&redis.Options{Addr: s.Addr, Password: s.Password})
		}
	}
}

// GoRedisContextTimeout is GoRedisDefaults with the one setting by which
// redsync's own limit per node comes into force.
func GoRedisContextTimeout() RedsyncOption {
	return func(w *redsyncWays) {
		w.timeout = 0.05 // redsync's default
		w.dial = func(s Server) *redis.Client {
			return redis.NewClient(&redis.Options{Addr: s.Addr, Password: s.Password, ContextTimeoutEnabled: true})
		}
	}
}

// NewRedsync connects lazily. Retries are off and a node may take TTL/10, as
// with our own Redlock, unless an option says otherwise.
func NewRedsync(servers []Server, ttl, patience time.Duration, clients int, jitter *Jitter, options ...RedsyncOption) *Redsync {
	ways := redsyncWays{timeout: 0.1, dial: func(s Server) *redis.Client { return dial(s, clients, patience) }}
	for _, o := range options {
		o(&ways)
	}
	l := &Redsync{ttl: ttl, jitter: jitter, timeout: ways.timeout}
	if ways.until {
		l.until = &sync.Map{}
	}
	var pools []redsyncredis.Pool
	for _, s := range servers {
		c := ways.dial(s)
		l.clients, pools = append(l.clients, c), append(pools, goredis.NewPool(c))
	}
	l.sync = redsync.New(pools...)
	return l
}

// Wait asks one node until the key is gone there, as our own Redlock does. On a
// connection that obeys no deadline it is one poll interval after a failed
// attempt: a node that is silent would hold it up.
func (l *Redsync) Wait(ctx context.Context, key string, again bool) error {
	switch {
	case l.clients[0].Options().ContextTimeoutEnabled:
		return awaitOnOne(ctx, l.clients, key, again, l.ttl, l.jitter)
	case !again:
		return ctx.Err()
	default:
		return Pause(ctx, l.jitter.Around(l.ttl/20))
	}
}

// mutex is the library's, for one holding.
func (l *Redsync) mutex(key, value string) *redsync.Mutex {
	return l.sync.NewMutex(key, redsync.WithExpiry(l.ttl), redsync.WithTries(1), redsync.WithTimeoutFactor(l.timeout),
		redsync.WithValue(value), redsync.WithGenValueFunc(func() (string, error) { return value, nil }))
}

// Acquire is one try. The library releases what it got of a try that fails.
func (l *Redsync) Acquire(ctx context.Context, key string, sent func(int64)) (Lease, error) {
	lease := Lease{Key: key, Value: newValue(), TTL: l.ttl, Start: history.Now()}
	sent(lease.Start)
	m := l.mutex(key, lease.Value)
	err := m.LockContext(ctx)
	switch {
	case err == nil:
		if l.until != nil {
			l.until.Store(lease.Value, m.Until())
		}
		return lease, nil
	case errors.As(err, new(*redsync.ErrTaken)), errors.As(err, new(*redsync.ErrNodeTaken)):
		return Lease{}, ErrHeld
	default:
		return Lease{}, err
	}
}

// Release is the library's Unlock.
func (l *Redsync) Release(ctx context.Context, lease Lease) error {
	ok, err := l.mutex(lease.Key, lease.Value).UnlockContext(ctx)
	return l.answered(ok, err)
}

// Check is the library's Valid, which asks the nodes, unless an option says
// otherwise.
func (l *Redsync) Check(ctx context.Context, lease Lease) error {
	if l.until != nil {
		if end, ok := l.until.Load(lease.Value); ok && time.Now().Before(end.(time.Time)) {
			return nil
		}
		return ErrLost
	}
	//lint:ignore SA1019 the nodes are to be asked; Until, which is recommended instead, looks at a clock only
	ok, err := l.mutex(lease.Key, lease.Value).ValidContext(ctx)
	return l.answered(ok, err)
}

// Renew is the library's Extend.
func (l *Redsync) Renew(ctx context.Context, lease Lease) (Lease, error) {
	start := history.Now()
	ok, err := l.mutex(lease.Key, lease.Value).ExtendContext(ctx)
	if err := l.answered(ok, err); err != nil {
		return lease, err
	}
	lease.Start, lease.TTL = start, l.ttl
	return lease, nil
}

// answered: without a quorum the lock is lost for certain only if a majority
// said that it is not ours.
func (l *Redsync) answered(ok bool, err error) error {
	switch {
	case ok:
		return nil
	case notOurs(err) > len(l.clients)/2:
		return ErrLost
	default:
		return Unknown{errors.Join(errors.New("redsync: no quorum"), err)}
	}
}

// notOurs counts the nodes that said so. The library joins one error per node,
// or tells of a majority in one.
func notOurs(err error) int {
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) {
		return len(taken.Nodes)
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if errors.As(err, new(*redsync.ErrNodeTaken)) || errors.Is(err, redsync.ErrLockAlreadyExpired) {
			return 1
		}
		return 0
	}
	n := 0
	for _, e := range joined.Unwrap() {
		n += notOurs(e)
	}
	return n
}

// Close closes the connections.
func (l *Redsync) Close() error {
	var errs []error
	for _, c := range l.clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
