package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
)

// EtcdSnapshot writes a snapshot of the leader's data to the file at path, as
// `etcdctl snapshot save` does.
func (c *Cluster) EtcdSnapshot(ctx context.Context, path string) error {
	leader, _, err := c.EtcdLeader(ctx)
	if err == nil {
		err = saveSnapshot(ctx, leader, path)
	}
	if err != nil {
		return fmt.Errorf("take a snapshot of etcd: %w", err)
	}
	return nil
}

// saveSnapshot leaves a file that is complete, or none.
func saveSnapshot(ctx context.Context, s *Server, path string) (err error) {
	c, err := etcdClient(ctx, s.Addr)
	if err != nil {
		return err
	}
	defer c.Close()
	snapshot, err := c.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snapshot.Close()
	part := path + ".part"
	f, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(part)
		}
	}()
	_, err = io.Copy(f, snapshot)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// EtcdRestore kills all members, replaces the data of each by the snapshot in
// the file at path, as etcd's documentation of disaster recovery says
// (`etcdutl snapshot restore`, same names, peers and token), and starts them.
// It returns once all take writes.
//
// Without a bump the revision goes back to the snapshot's. With one it is first
// raised by bumpRevision, and everything up to there counts as compacted
// (--bump-revision, --mark-compacted). Keys and leases are those of the
// snapshot; each lease begins anew with its full TTL. When it fails the members
// are killed, and their data is undefined.
func (c *Cluster) EtcdRestore(ctx context.Context, path string, bumpRevision uint64) error {
	if err := c.etcdRestore(ctx, path, bumpRevision); err != nil {
		return fmt.Errorf("restore etcd: %w", err)
	}
	return nil
}

func (c *Cluster) etcdRestore(ctx context.Context, path string, bump uint64) error {
	if len(c.Etcd) == 0 {
		return errors.New("there is no etcd")
	}
	snapshot, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	err = each(c.Etcd, func(s *Server) error { return s.killUnlessKilled(ctx) })
	if err != nil {
		return err
	}
	if err := each(c.Etcd, func(s *Server) error { return s.restore(ctx, string(snapshot), bump) }); err != nil {
		return err
	}
	return c.RestartAll(ctx, c.Etcd...)
}

// restore replaces the data of a killed member.
func (s *Server) restore(ctx context.Context, snapshot string, bump uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != Killed {
		return fmt.Errorf("%s is %s, not killed", s.Name, s.state)
	}
	if err := s.body.empty(ctx); err != nil {
		return fmt.Errorf("remove the data of %s: %w", s.Name, err)
	}
	if err := s.body.run(ctx, func(dir string) launch { return s.etcd.restore(dir, snapshot, bump) }); err != nil {
		return fmt.Errorf("make the data of %s: %w", s.Name, err)
	}
	return nil
}

// restore makes the member's data of a snapshot.
func (m *etcdMember) restore(dir, snapshot string, bump uint64) launch {
	const file = "snapshot.db"
	g := m.group
	args := []string{
		"snapshot", "restore", path.Join(dir, file),
		"--name=" + g.memberName(m.i),
		"--data-dir=" + path.Join(dir, "data"),
		"--initial-cluster=" + g.initial(),
		"--initial-cluster-token=" + g.token,
		"--initial-advertise-peer-urls=" + g.peerURL(m.i),
	}
	if bump > 0 {
		args = append(args, "--bump-revision="+strconv.FormatUint(bump, 10), "--mark-compacted")
	}
	return launch{program: "etcdutl", args: args, files: map[string]string{file: snapshot}}
}
