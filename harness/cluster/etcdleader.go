package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// statusWithin bounds the question to one member.
const statusWithin = time.Second

// EtcdLeader asks all members that run, and returns the one that calls itself
// the leader, with its term. Members that are stopped or killed are not asked,
// and one that does not answer costs a second at most. An error says that
// there is none at the moment, as during an election, when a caller may ask
// again.
func (c *Cluster) EtcdLeader(ctx context.Context) (*Server, uint64, error) {
	if len(c.Etcd) == 0 {
		return nil, 0, errors.New("ask for the etcd leader: there is no etcd")
	}
	answers := make([]*clientv3.StatusResponse, len(c.Etcd))
	errs := make([]error, len(c.Etcd))
	var asked sync.WaitGroup
	for i, s := range c.Etcd {
		if s.State() == Running {
			asked.Go(func() { answers[i], errs[i] = etcdStatus(ctx, s) })
		}
	}
	asked.Wait()
	var leader *Server
	var term, newest uint64
	for i, a := range answers {
		if a == nil {
			continue
		}
		newest = max(newest, a.RaftTerm)
		if a.Leader == a.Header.MemberId && a.RaftTerm > term {
			leader, term = c.Etcd[i], a.RaftTerm
		}
	}
	switch {
	case leader == nil:
		return nil, 0, errors.Join(append([]error{errors.New("no etcd member that answers is the leader")}, errs...)...)
	case term < newest: // deposed, and not told yet
		return nil, 0, fmt.Errorf("etcd has a leader of term %d, and its term is %d by now", term, newest)
	}
	return leader, term, nil
}

func etcdStatus(ctx context.Context, s *Server) (*clientv3.StatusResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, statusWithin)
	defer cancel()
	c, err := etcdClient(ctx, s.Addr)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", s.Name, err)
	}
	defer c.Close()
	// A member knows its leader before it has applied the first entry of the new
	// term, and until then it tells the old term. A linearizable read waits for that.
	if _, err := c.Get(ctx, "torture/leader"); err != nil {
		return nil, fmt.Errorf("ask %s: %w", s.Name, err)
	}
	status, err := c.Status(ctx, c.Endpoints()[0])
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", s.Name, err)
	}
	return status, nil
}
