package lock

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/outcome"
)

// Advisory is a lock of PostgreSQL that belongs to a session
// (https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS):
// each key has a session of its own. It has no lease: it lasts until it is given
// back or the session ends, however long its holder sleeps.
type Advisory struct {
	dsn    string
	name   string
	poll   time.Duration
	jitter *Jitter

	mu       sync.Mutex
	sessions map[string]*pgx.Conn // by key
}

// NewAdvisory connects when a key is first asked for. name is the application
// name of its sessions; poll is the time between two attempts, ± 50 %.
func NewAdvisory(dsn, name string, poll time.Duration, jitter *Jitter) *Advisory {
	return &Advisory{dsn: dsn, name: name, poll: poll, jitter: jitter, sessions: map[string]*pgx.Conn{}}
}

// Wait is one poll interval after a failed attempt: the session would queue,
// but then the grants could not be told apart as older and newer.
func (l *Advisory) Wait(ctx context.Context, _ string, again bool) error {
	if !again {
		return ctx.Err()
	}
	return Pause(ctx, l.jitter.Around(l.poll))
}

// session is the connection of a key, opened when there is none.
func (l *Advisory) session(ctx context.Context, key string) (*pgx.Conn, error) {
	l.mu.Lock()
	c := l.sessions[key]
	l.mu.Unlock()
	if c != nil && !c.IsClosed() {
		return c, nil
	}
	cfg, err := pgx.ParseConfig(l.dsn)
	if err != nil {
		return nil, fmt.Errorf("connection string: %w", err)
	}
	cfg.RuntimeParams["application_name"] = l.name
	if c, err = pgx.ConnectConfig(ctx, cfg); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sessions[key] = c
	return c, nil
}

// number is the key as advisory locks want it.
func number(key string) int64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, key)
	return int64(h.Sum64())
}

// Acquire is one pg_try_advisory_lock.
func (l *Advisory) Acquire(ctx context.Context, key string, sent func(int64)) (Lease, error) {
	c, err := l.session(ctx, key)
	if err != nil {
		return Lease{}, err
	}
	lease := Lease{Key: key, Value: newValue(), ID: int64(c.PgConn().PID()), Start: history.Now()}
	sent(lease.Start)
	took, err := l.ask(ctx, c, `SELECT pg_try_advisory_lock($1)`, key)
	switch {
	case err != nil:
		return Lease{}, err
	case !took:
		return Lease{}, ErrHeld
	default:
		return lease, nil
	}
}

// ask puts a question about a key. A session whose answer never came is closed,
// and whatever it held goes with it.
func (l *Advisory) ask(ctx context.Context, c *pgx.Conn, sql, key string) (yes bool, err error) {
	err = c.QueryRow(ctx, sql, number(key)).Scan(&yes)
	switch {
	case err == nil:
		return yes, nil
	case outcome.Postgres(err) == history.Info:
		gone, cancel := context.WithCancel(context.Background())
		cancel() // without a deadline of its own Close would wait for a server that is stopped
		_ = c.Close(gone)
		return false, Unknown{err}
	default:
		return false, fmt.Errorf("advisory lock: %w", err)
	}
}

// held is the session that holds a lease; ErrLost if it has ended.
func (l *Advisory) held(lease Lease) (*pgx.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.sessions[lease.Key]
	if c == nil || c.IsClosed() || int64(c.PgConn().PID()) != lease.ID {
		return nil, ErrLost
	}
	return c, nil
}

// Release gives it back.
func (l *Advisory) Release(ctx context.Context, lease Lease) error {
	c, err := l.held(lease)
	if err != nil {
		return err
	}
	ours, err := l.ask(ctx, c, `SELECT pg_advisory_unlock($1)`, lease.Key)
	if err == nil && !ours {
		return ErrLost
	}
	return err
}

// Check asks whether the session still holds it.
func (l *Advisory) Check(ctx context.Context, lease Lease) error {
	c, err := l.held(lease)
	if err != nil {
		return err
	}
	ours, err := l.ask(ctx, c, `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid()
		AND objsubid = 1 AND ((classid::bigint << 32) | objid::bigint) = $1::bigint)`, lease.Key)
	if err == nil && !ours {
		return ErrLost
	}
	return err
}

// Close ends the sessions.
func (l *Advisory) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var errs []error
	for _, c := range l.sessions {
		errs = append(errs, c.Close(ctx))
	}
	return errors.Join(errs...)
}
