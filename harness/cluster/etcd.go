package cluster

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// etcdGroup is one etcd cluster as it is planned.
type etcdGroup struct {
	token   string  // distinguishes it from any other cluster
	name    string  // begins every member's name
	clients []*port // one per member
	peers   []*port
}

func (g *etcdGroup) memberName(i int) string { return fmt.Sprintf("%s-%d", g.name, i+1) }

// initial lists all members, as --initial-cluster wants them.
func (g *etcdGroup) initial() string {
	var all []string
	for i := range g.peers {
		all = append(all, g.memberName(i)+"="+g.peerURL(i))
	}
	return strings.Join(all, ",")
}

func (g *etcdGroup) peerURL(i int) string { return "http://" + g.peers[i].addr() }

// etcdMember is member i of a group.
type etcdMember struct {
	group *etcdGroup
	i     int
}

// launch runs the member. Heartbeat and election timeout are a fifth of the
// default, because the shortest lease is ceil(1.5 × election timeout) and
// leases of 1 s are wanted.
func (m *etcdMember) launch(dir string) launch {
	g := m.group
	client, peer := "http://"+g.clients[m.i].addr(), g.peerURL(m.i)
	return launch{program: "etcd", keeps: true, args: []string{
		"--name=" + g.memberName(m.i),
		"--data-dir=" + path.Join(dir, "data"),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=" + g.initial(),
		"--initial-cluster-state=new",
		"--initial-cluster-token=" + g.token,
		"--heartbeat-interval=20",
		"--election-timeout=200",
		"--quota-backend-bytes=268435456",
		"--logger=zap",
		"--log-level=warn",
	}}
}

func etcdClient(ctx context.Context, addr string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{
		Context:     ctx,
		Endpoints:   []string{"http://" + addr},
		DialTimeout: 2 * time.Second,
		Logger:      zap.NewNop(),
	})
}

// probe succeeds if the member, and not another cluster's that got its port,
// takes a write and grants a lease.
func (m *etcdMember) probe(ctx context.Context, s *Server) error {
	if err := dial(ctx, s.Addr); err != nil {
		return err
	}
	c, err := etcdClient(ctx, s.Addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := m.group.recognize(ctx, c, m.i); err != nil {
		return err
	}
	lease, err := c.Grant(ctx, 60)
	if err != nil {
		return err
	}
	if _, err := c.Put(ctx, "torture/ready/"+s.Name, s.Name, clientv3.WithLease(lease.ID)); err != nil {
		return err
	}
	_, err = c.Revoke(ctx, lease.ID) // takes the key along
	return err
}

func (g *etcdGroup) recognize(ctx context.Context, c *clientv3.Client, i int) error {
	status, err := c.Status(ctx, c.Endpoints()[0])
	if err != nil {
		return err
	}
	list, err := c.MemberList(ctx)
	if err != nil {
		return err
	}
	if len(list.Members) != len(g.peers) {
		return fmt.Errorf("the cluster has %d members, not %d", len(list.Members), len(g.peers))
	}
	for _, m := range list.Members {
		if m.ID == status.Header.MemberId && m.Name == g.memberName(i) {
			return nil
		}
	}
	return fmt.Errorf("a member of another cluster answers at %s", c.Endpoints()[0])
}

func etcdVersion(ctx context.Context, s *Server) (string, error) {
	c, err := etcdClient(ctx, s.Addr)
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", s.Name, err)
	}
	defer c.Close()
	status, err := c.Status(ctx, c.Endpoints()[0])
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", s.Name, err)
	}
	return status.Version, nil
}
