package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
)

// host is where one set of servers lives: a folder with processes, or an engine
// with containers.
type host interface {
	// body makes what m runs in. Nothing of it is running yet.
	body(ctx context.Context, m *member) (body, error)
	// close removes everything, running or not.
	close(ctx context.Context) error
}

// newHost makes a host for one try, with what a reader should know about it.
type newHost func(ctx context.Context) (h host, notes []string, err error)

// tries is how often a start is tried when somebody takes a port of ours in the
// moment between choosing it and its server's binding to it.
const tries = 3

// start starts all servers of spec, with fresh ports if one is taken.
func start(ctx context.Context, spec Spec, choose ports, open newHost) (*Cluster, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(spec.Dir)
	if err != nil {
		return nil, err
	}
	spec.Dir = dir
	for try := 1; ; try++ {
		c, err := startOnce(ctx, spec, choose, open)
		var taken *portTakenError
		if !errors.As(err, &taken) {
			return c, err
		}
		if try == tries {
			return nil, fmt.Errorf("no free port in %d tries: %w", tries, err)
		}
		spec.say("%s lost its port to somebody else, trying others", taken.server)
	}
}

// portTakenError says that a server ended because its port was taken.
type portTakenError struct {
	server string
	err    error
}

func (e *portTakenError) Error() string { return e.err.Error() }
func (e *portTakenError) Unwrap() error { return e.err }

func startOnce(ctx context.Context, spec Spec, choose ports, open newHost) (*Cluster, error) {
	ps, err := choose(portsOf(spec))
	if err != nil {
		return nil, err
	}
	h, notes, err := open(ctx)
	if err != nil {
		release(ps)
		return nil, err
	}
	members := plan(spec, ps)
	c := &Cluster{Versions: map[string]string{}, Images: map[string]string{}, Notes: notes, failed: make(chan error, len(members))}
	c.close = func(ctx context.Context) error {
		c.quiet()
		err := h.close(ctx)
		release(ps)
		return err
	}
	for _, m := range members {
		c.add(m.server)
	}
	if err := c.startAll(ctx, spec, h, members); err != nil {
		return nil, errors.Join(err, c.Close(context.WithoutCancel(ctx)))
	}
	return c, nil
}

func (c *Cluster) add(s *Server) {
	s.failed = c.failed
	switch s.Kind {
	case Redis:
		if s.master != nil {
			c.Replica = s
			return
		}
		c.Redis = append(c.Redis, s)
	case Etcd:
		c.Etcd = append(c.Etcd, s)
	case Postgres:
		c.Postgres = s
	}
}

// startAll starts all servers at once and waits until each takes writes. The
// first failure ends the waiting for the others.
func (c *Cluster) startAll(ctx context.Context, spec Spec, h host, members []*member) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for _, m := range members {
		all.Go(func() {
			if err := startMember(ctx, spec, h, m); err != nil {
				cancel(err) // the first one is the cause
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return c.askVersions(ctx)
}

func startMember(ctx context.Context, spec Spec, h host, m *member) error {
	s := m.server
	s.guardian = spec.Guardian
	var err error
	if s.Log, err = createLog(spec.Dir, s.Name); err != nil {
		return err
	}
	if s.body, err = h.body(ctx, m); err != nil {
		return fmt.Errorf("prepare %s: %w", s.Name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.start(ctx); err != nil {
		return err
	}
	err = s.ready(ctx)
	select {
	case <-s.ended:
		if portTaken(s.Log) {
			return &portTakenError{server: s.Name, err: err}
		}
	default:
	}
	return err
}

func (c *Cluster) askVersions(ctx context.Context) error {
	ask := map[Kind]func(context.Context, *Server) (string, error){
		Redis: redisVersion, Etcd: etcdVersion, Postgres: postgresVersion,
	}
	for _, s := range c.Servers() {
		version, err := ask[s.Kind](ctx, s)
		if err != nil {
			return err
		}
		c.Versions[string(s.Kind)] = version
	}
	return nil
}

// quiet makes the coming ends of the servers no surprise.
func (c *Cluster) quiet() {
	for _, s := range c.Servers() {
		s.mu.Lock()
		s.state = Killed
		s.mu.Unlock()
	}
}
