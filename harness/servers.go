package harness

import (
	"context"
	"fmt"
	"slices"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/workloads"
)

// servers are those that a strategy stands on. They are the nemesis' Servers.
type servers struct {
	cluster *cluster.Cluster
	needs   workloads.Needs
}

// Kinds implements nemesis.Servers.
func (s *servers) Kinds() []string {
	var kinds []string
	if s.needs.Redis > 0 {
		kinds = append(kinds, string(cluster.Redis))
	}
	if s.needs.Etcd {
		kinds = append(kinds, string(cluster.Etcd))
	}
	return append(kinds, string(cluster.Postgres))
}

// Pick implements nemesis.Servers.
func (s *servers) Pick(ctx context.Context, kind string, n int) (string, error) {
	switch cluster.Kind(kind) {
	case cluster.Redis:
		used := s.cluster.Redis[:s.needs.Redis]
		return used[n%len(used)].Name, nil
	case cluster.Etcd:
		leader, _, err := s.cluster.EtcdLeader(ctx)
		if err != nil {
			return "", err
		}
		return leader.Name, nil
	default:
		return s.cluster.Postgres.Name, nil
	}
}

func (s *servers) named(name string) (*cluster.Server, error) {
	all := s.cluster.Servers()
	if i := slices.IndexFunc(all, func(one *cluster.Server) bool { return one.Name == name }); i >= 0 {
		return all[i], nil
	}
	return nil, fmt.Errorf("there is no server %q", name)
}

// Stop implements nemesis.Servers.
func (s *servers) Stop(ctx context.Context, name string) error {
	server, err := s.named(name)
	if err != nil {
		return err
	}
	return server.Stop(ctx)
}

// Continue implements nemesis.Servers.
func (s *servers) Continue(ctx context.Context, name string) error {
	server, err := s.named(name)
	if err != nil {
		return err
	}
	if err := server.Continue(ctx); err != nil {
		return err
	}
	return server.Ready(ctx)
}
