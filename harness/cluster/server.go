package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/torture-harness/torture/harness/guardian"
	"github.com/torture-harness/torture/harness/guardian/pidfd"
)

// Server is one running server. Its address, data and password stay the same
// for its life, restarts included.
type Server struct {
	Name     string // redis-1
	Kind     Kind   //
	Addr     string // 127.0.0.1:port
	User     string // "" if it has none
	Password string // "" if it has none
	Log      string // path of its log

	body     body
	guardian *guardian.Guardian
	port     *port
	failed   chan<- error
	probe    func(context.Context, *Server) error
	master   *Server     // whom a Redis follows; nil for nobody
	etcd     *etcdMember // nil for others
	clock    *clock      // nil if it has none of its own

	mu    sync.Mutex
	state ServerState
	ended <-chan struct{} // of its present life
}

// ServerState is what a server is doing, as far as we made it do so.
type ServerState string

// The states. A killed server has kept its data.
const (
	Running ServerState = "running"
	Stopped ServerState = "stopped"
	Killed  ServerState = "killed"
)

// body is what a server runs in: processes, or a container.
type body interface {
	// start begins a life; ended is closed when it is over.
	start(ctx context.Context) (ended <-chan struct{}, err error)
	// stop returns once all of the server is proven to be stopped.
	stop(ctx context.Context) error
	// resume undoes stop.
	resume(ctx context.Context) error
	// kill returns once nothing of the server is alive. It may be stopped.
	kill(ctx context.Context) error

	data

	// locate finds the process that the server itself knows by the number pid.
	locate(ctx context.Context, pid int) (pidfd.Target, error)
}

// data is what a server keeps between its lives. Nothing of the server runs.
type data interface {
	// empty throws it away and prepares it as for the first start.
	empty(ctx context.Context) error
	// run runs another program on it, to its end.
	run(ctx context.Context, launch func(dir string) launch) error
}

// State is the current state.
func (s *Server) State() ServerState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Stop stops the server where it stands, as a stop-the-world pause does: all
// its processes, proven to be stopped before Stop returns. The kernel goes on
// accepting connections and bytes for it.
func (s *Server) Stop(ctx context.Context) error {
	return s.change(ctx, "stop", Running, Stopped, s.body.stop)
}

// Continue lets a stopped server go on.
func (s *Server) Continue(ctx context.Context) error {
	return s.change(ctx, "continue", Stopped, Running, s.body.resume)
}

// Kill ends the server, running or stopped, without a chance to tidy up
// (SIGKILL to all its processes), and returns once it is gone.
func (s *Server) Kill(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kill(ctx)
}

func (s *Server) killUnlessKilled(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == Killed {
		return nil
	}
	return s.kill(ctx)
}

// Restart kills the server if need be and starts it again with the same address
// and the data that it keeps. It returns once a write has succeeded; for a
// Redis replica, once its link is up.
//
// PostgreSQL keeps what was committed (with its default synchronous_commit; the
// content of UNLOGGED tables is gone), etcd what was acknowledged. Redis keeps
// nothing, unless the cluster was started with RedisDurable, and then every
// write that was answered. A replica gets its master's data again.
func (s *Server) Restart(ctx context.Context) error {
	return s.restart(ctx, func() error { return nil })
}

// RestartEmpty is Restart without any data, as after the loss of a disk:
// PostgreSQL begins with a new, empty database, Redis and a single etcd with no
// key. One of several members of an etcd cluster cannot come back without the
// data that its peers know it to have, and is refused; see EtcdRestore.
func (s *Server) RestartEmpty(ctx context.Context) error {
	if s.etcd != nil && len(s.etcd.group.peers) > 1 {
		return fmt.Errorf("restart %s without data: its peers would not take it back", s.Name)
	}
	return s.restart(ctx, func() error {
		if err := s.body.empty(ctx); err != nil {
			return fmt.Errorf("remove the data of %s: %w", s.Name, err)
		}
		return nil
	})
}

func (s *Server) restart(ctx context.Context, between func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != Killed {
		if err := s.kill(ctx); err != nil {
			return err
		}
	}
	if err := between(); err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	return s.ready(ctx)
}

// Ready returns once the server, which is running, takes a write, or, for a
// replica, once its link is up.
func (s *Server) Ready(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != Running {
		return fmt.Errorf("wait for %s: it is %s", s.Name, s.state)
	}
	return s.ready(ctx)
}

func (s *Server) change(ctx context.Context, what string, from, to ServerState, do func(context.Context) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != from {
		return fmt.Errorf("%s %s: it is %s, not %s", what, s.Name, s.state, from)
	}
	if err := do(ctx); err != nil {
		return fmt.Errorf("%s %s: %w", what, s.Name, err)
	}
	s.state = to
	return nil
}

func (s *Server) kill(ctx context.Context) error {
	if s.state == Killed {
		return fmt.Errorf("kill %s: it is killed already", s.Name)
	}
	before := s.state
	s.state = Killed // first, so that its end is no surprise
	if err := s.body.kill(ctx); err != nil {
		s.state = before
		return fmt.Errorf("kill %s: %w", s.Name, err)
	}
	return nil
}

// start begins a new life. The caller holds mu, or is the only one to know s.
func (s *Server) start(ctx context.Context) error {
	ended, err := s.body.start(ctx)
	if err != nil {
		return fmt.Errorf("start %s: %w", s.Name, err)
	}
	s.state, s.ended = Running, ended
	go s.watch(ended)
	return nil
}

// watch reports the end of a life that nobody ended.
func (s *Server) watch(ended <-chan struct{}) {
	<-ended
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == Killed || s.ended != ended {
		return
	}
	s.state = Killed
	select {
	case s.failed <- s.endedError():
	default: // enough have been reported already
	}
}

// readyWithin is how long a server may take until its first write succeeds.
const readyWithin = time.Minute

// ready probes until a write succeeds, or the server has ended.
func (s *Server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.probeOnce(ctx)
		if err == nil {
			return s.stillThere()
		}
		select {
		case <-s.ended:
			return s.endedError()
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w%s", s.Name, errors.Join(err, context.Cause(ctx)), s.lastWords())
		case <-tick.C:
		}
	}
}

// probeOnce bounds one try, and does not wait for its end when the server has
// ended: whoever has its port may never answer.
func (s *Server) probeOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	probed := make(chan error, 1)
	go func() {
		defer cancel()
		probed <- s.probe(ctx, s)
	}()
	select {
	case err := <-probed:
		return err
	case <-s.ended:
		cancel()
		return s.endedError()
	}
}

// stillThere says whether the server that was probed is ours: had ours ended,
// somebody else would have answered.
func (s *Server) stillThere() error {
	select {
	case <-s.ended:
		return s.endedError()
	default:
		return nil
	}
}

func (s *Server) endedError() error {
	return fmt.Errorf("%s has ended%s", s.Name, s.lastWords())
}
