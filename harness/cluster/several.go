package cluster

import (
	"context"
	"errors"
	"sync"
)

// KillAll kills several servers at once; those that are killed already stay so.
func (c *Cluster) KillAll(ctx context.Context, servers ...*Server) error {
	return each(servers, func(s *Server) error { return s.killUnlessKilled(ctx) })
}

// RestartAll kills those of the servers that are not killed, all of them before
// the first is started, and starts all at once, with their data and addresses
// (see Restart). It returns once each takes a write. Members of an etcd cluster
// that have lost their quorum get ready only in this way: one waits for the
// others.
func (c *Cluster) RestartAll(ctx context.Context, servers ...*Server) error {
	if err := c.KillAll(ctx, servers...); err != nil {
		return err
	}
	return each(servers, func(s *Server) error { return s.Restart(ctx) })
}

// each does something with all servers at once.
func each(servers []*Server, do func(*Server) error) error {
	errs := make([]error, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() { errs[i] = do(s) })
	}
	all.Wait()
	return errors.Join(errs...)
}
