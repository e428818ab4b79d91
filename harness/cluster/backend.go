package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"github.com/torture-harness/torture/harness/guardian/pidfd"
	"github.com/torture-harness/torture/harness/proc"
)

// backendWithin bounds each look at a backend.
const backendWithin = 5 * time.Second

// StopBackend stops one session of a running PostgreSQL (SIGSTOP to its backend
// process, by the number that pg_backend_pid() gives), proven to be stopped
// when it returns. What the session's client sends from then on waits in the
// backend's socket, as a request in flight waits in the network.
//
// Only an idle backend is stopped, outside of a transaction: another one may
// hold locks of the server's own and stall everyone. It is looked at before and
// after; the client must send nothing meanwhile.
//
// resume lets it go on, once it does; doing it again does nothing, and so does
// it when the backend has ended meanwhile. While the whole server is stopped it
// is refused. If this process dies the guardian does it.
//
// A server in a container has processes of another user: without the right to
// signal them the error says so.
func (s *Server) StopBackend(ctx context.Context, backendPID int) (resume func(context.Context) error, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	resume, err = s.stopBackend(ctx, backendPID)
	if err != nil {
		return nil, fmt.Errorf("stop backend %d of %s: %w", backendPID, s.Name, err)
	}
	return resume, nil
}

func (s *Server) stopBackend(ctx context.Context, pid int) (func(context.Context) error, error) {
	switch {
	case s.Kind != Postgres:
		return nil, errors.New("it is no PostgreSQL")
	case s.state != Running:
		return nil, fmt.Errorf("the server is %s", s.state)
	}
	conn, err := connectWithin(ctx, s)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := backendIsIdle(ctx, conn, pid); err != nil {
		return nil, err
	}
	t, err := s.body.locate(ctx, pid)
	if err != nil {
		return nil, err
	}
	if state, err := proc.StateOf(t.Pid); err == nil && state == 'T' {
		return nil, errors.New("it is stopped already")
	}
	b := &stoppedBackend{server: s, target: t}
	if err := s.guardian.Process(t.Pid, t.Start, s.Name+" backend"); err != nil {
		return nil, err
	}
	err = b.stop(ctx)
	if errors.Is(err, errForbidden) {
		return nil, errors.Join(err, s.guardian.Gone(t.Pid))
	}
	if err == nil {
		err = backendIsIdle(ctx, conn, pid)
	}
	if err != nil {
		return nil, errors.Join(err, b.goOn(context.WithoutCancel(ctx)))
	}
	return b.resume, nil
}

func connectWithin(ctx context.Context, s *Server) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, backendWithin)
	defer cancel()
	return pgx.Connect(ctx, s.dsn(database))
}

func backendIsIdle(ctx context.Context, conn *pgx.Conn, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, backendWithin)
	defer cancel()
	var state string
	err := conn.QueryRow(ctx, "SELECT coalesce(state, '') FROM pg_stat_activity WHERE pid = $1 AND backend_type = 'client backend'", pid).Scan(&state)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return errors.New("there is no such session")
	case err != nil:
		return fmt.Errorf("look whether it is idle: %w", err)
	case state != "idle":
		return fmt.Errorf("it is %q, not idle", state)
	}
	return nil
}

var errForbidden = errors.New("this account may not signal the processes of a container: run as root, or use --provider process")

// stoppedBackend is a backend that the guardian knows of.
type stoppedBackend struct {
	server *Server
	target pidfd.Target
	done   bool // under the server's mu
}

func (b *stoppedBackend) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, backendWithin)
	defer cancel()
	h, err := pidfd.Open(b.target)
	if err != nil {
		return err
	}
	defer h.Close()
	_, err = h.Stop(ctx)
	if errors.Is(err, unix.EPERM) {
		return errForbidden
	}
	return err
}

func (b *stoppedBackend) resume(ctx context.Context) error {
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	if b.server.state == Stopped {
		return fmt.Errorf("resume a backend of %s: the server is stopped", b.server.Name)
	}
	if err := b.goOn(ctx); err != nil {
		return fmt.Errorf("resume a backend of %s: %w", b.server.Name, err)
	}
	return nil
}

func (b *stoppedBackend) goOn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, backendWithin)
	defer cancel()
	if b.done {
		return nil
	}
	h, err := pidfd.Open(b.target)
	if err == nil {
		err = h.Continue(ctx)
		h.Close()
	}
	if err != nil && !errors.Is(err, pidfd.ErrGone) {
		return err
	}
	b.done = true
	return b.server.guardian.Gone(b.target.Pid)
}
