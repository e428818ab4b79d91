package cluster

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/torture-harness/torture/harness/proc"
)

// Two clusters of one run, which differ in nothing but their names.
func TestTwoOfOneRun(t *testing.T) {
	onProviders(t, func(t *testing.T, p Provider) {
		spec := newSpec(t)
		spec.Redis, spec.Etcd = 1, 1
		one := mustStart(t, p, spec)
		spec.Name = "two"
		two := mustStart(t, p, spec)
		if one.Redis[0].Name != "redis-1" || two.Redis[0].Name != "two-redis-1" || two.Etcd[0].Name != "two-etcd-1" {
			t.Errorf("names %s, %s, %s", one.Redis[0].Name, two.Redis[0].Name, two.Etcd[0].Name)
		}
		if err := one.Close(testContext(t)); err != nil {
			t.Fatal(err)
		}
		for _, s := range two.Servers() {
			mustPut(t, s, "still", "here")
			mustGet(t, s, "still", "here")
		}
		if err := two.Close(testContext(t)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestEtcdFaults(t *testing.T) {
	onProviders(t, func(t *testing.T, p Provider) {
		spec := newSpec(t)
		spec.Etcd, spec.Name = 3, "e"
		c := mustStart(t, p, spec)
		t.Run("leader", func(t *testing.T) { leaderStopped(t, c) })
		t.Run("all killed", func(t *testing.T) { allKilled(t, c) })
		t.Run("restore", func(t *testing.T) { restored(t, c) })
		if err := c.Etcd[0].RestartEmpty(testContext(t)); err == nil {
			t.Error("a member of three was restarted without data")
		}
		noneFailed(t, c)
	})
}

func noneFailed(t *testing.T, c *Cluster) {
	t.Helper()
	select {
	case err := <-c.Failed():
		t.Errorf("a server is said to have ended by itself: %v", err)
	default:
	}
}

// mustLeader asks until there is a leader.
func mustLeader(t *testing.T, c *Cluster) (*Server, uint64) {
	t.Helper()
	var leader *Server
	var term uint64
	waitUntil(t, "etcd has a leader", func() bool {
		var err error
		leader, term, err = c.EtcdLeader(testContext(t))
		return err == nil
	})
	return leader, term
}

func leaderStopped(t *testing.T, c *Cluster) {
	ctx := testContext(t)
	leader, term := mustLeader(t, c)
	if err := leader.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	next, newTerm := mustLeader(t, c)
	if next == leader || newTerm <= term {
		t.Errorf("%s of term %d follows %s of term %d", next.Name, newTerm, leader.Name, term)
	}
	if err := leader.Continue(ctx); err != nil {
		t.Fatal(err)
	}
}

func allKilled(t *testing.T, c *Cluster) {
	ctx := testContext(t)
	mustPut(t, c.Etcd[0], "all", "kept")
	if err := c.KillAll(ctx, c.Etcd...); err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Etcd {
		if conn, err := net.Dial("tcp", s.Addr); err == nil {
			_ = conn.Close()
			t.Errorf("%s takes connections", s.Name)
		}
	}
	if _, _, err := c.EtcdLeader(ctx); err == nil {
		t.Error("killed members have a leader")
	}
	if err := c.RestartAll(ctx, c.Etcd...); err != nil {
		t.Fatal(err)
	}
	mustPut(t, c.Etcd[1], "more", "x") // which waits until the member has the rest
	mustGet(t, c.Etcd[1], "all", "kept")
}

func restored(t *testing.T, c *Cluster) {
	ctx := testContext(t)
	mustPut(t, c.Etcd[0], "restore", "old")
	snapshot := filepath.Join(t.TempDir(), "snapshot.db")
	mustLeader(t, c)
	if err := c.EtcdSnapshot(ctx, snapshot); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		mustPut(t, c.Etcd[0], "restore", "new")
	}
	before := revision(t, c)
	if err := c.EtcdRestore(ctx, snapshot, 0); err != nil {
		t.Fatal(err)
	}
	if after := revision(t, c); after >= before {
		t.Errorf("revision %d after %d", after, before)
	}
	for _, s := range c.Etcd {
		mustGet(t, s, "restore", "old")
	}
	const bump = 1_000_000_000
	if err := c.EtcdRestore(ctx, snapshot, bump); err != nil {
		t.Fatal(err)
	}
	if after := revision(t, c); after < bump {
		t.Errorf("revision %d after a bump by %d", after, bump)
	}
	mustPut(t, c.Etcd[2], "restore", "newest")
}

func revision(t *testing.T, c *Cluster) int64 {
	t.Helper()
	ctx := testContext(t)
	client, err := etcdClient(ctx, c.Etcd[0].Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	answer, err := client.Get(ctx, "restore", clientv3.WithCountOnly())
	if err != nil {
		t.Fatal(err)
	}
	return answer.Header.Revision
}

// One member alone has no peers to get ready with, nor to be restored with.
func TestEtcdOfOne(t *testing.T) {
	onProviders(t, func(t *testing.T, p Provider) {
		spec := newSpec(t)
		spec.Etcd = 1
		c, ctx := mustStart(t, p, spec), testContext(t)
		mustPut(t, c.Etcd[0], "k", "old")
		snapshot := filepath.Join(t.TempDir(), "snapshot.db")
		if err := c.EtcdSnapshot(ctx, snapshot); err != nil {
			t.Fatal(err)
		}
		if err := c.Etcd[0].RestartEmpty(ctx); err != nil {
			t.Fatal(err)
		}
		if v, err := storeOf(c.Etcd[0]).get(ctx, "k"); err == nil {
			t.Errorf("without data it has %q", v)
		}
		if err := c.EtcdRestore(ctx, snapshot, 0); err != nil {
			t.Fatal(err)
		}
		mustGet(t, c.Etcd[0], "k", "old")
		noneFailed(t, c)
	})
}

func TestRedisFaults(t *testing.T) {
	onProviders(t, func(t *testing.T, p Provider) {
		spec := newSpec(t)
		spec.Redis, spec.RedisDurable, spec.RedisReplica, spec.RedisClock = 2, true, true, true
		c := mustStart(t, p, spec)
		t.Run("durable", func(t *testing.T) { durable(t, c.Redis[1]) })
		t.Run("clock", func(t *testing.T) { clockMoves(t, c) })
		t.Run("replica", func(t *testing.T) { replicaPromoted(t, c) })
		noneFailed(t, c)
	})
}

func durable(t *testing.T, s *Server) {
	ctx := testContext(t)
	mustPut(t, s, "durable", "kept")
	if err := s.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	mustGet(t, s, "durable", "kept")
	if err := s.RestartEmpty(ctx); err != nil {
		t.Fatal(err)
	}
	if v, err := storeOf(s).get(ctx, "durable"); err == nil {
		t.Errorf("without data it has %q", v)
	}
	mustPut(t, s, "durable", "again")
}

// clockMoves asserts that a key ends when its server's clock moves past its
// end, that no other server minds, and that the clock stays moved.
func clockMoves(t *testing.T, c *Cluster) {
	ctx := testContext(t)
	const ttl, far = time.Minute, 90 * time.Second
	for _, s := range c.Redis {
		r := redisClient(s)
		defer r.Close()
		if err := r.Set(ctx, "clock", "v", ttl).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Redis[1].MoveClock(ctx, far); err != nil {
		t.Fatal(err)
	}
	if v, err := storeOf(c.Redis[1]).get(ctx, "clock"); err == nil {
		t.Errorf("the key has not ended: %q", v)
	}
	mustGet(t, c.Redis[0], "clock", "v")
	if err := c.Redis[1].Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.Redis[1].MoveClock(ctx, -2*far); err != nil { // proves where it was, too
		t.Fatal(err)
	}
	if err := c.Redis[1].MoveClock(ctx, far); err != nil {
		t.Fatal(err)
	}
}

func replicaPromoted(t *testing.T, c *Cluster) {
	ctx := testContext(t)
	master, replica := c.Redis[0], c.Replica
	if err := replica.WaitLink(ctx, true); err != nil {
		t.Fatal(err)
	}
	mustPut(t, master, "replica", "followed")
	waitUntil(t, "the replica has the key", func() bool {
		v, err := storeOf(replica).get(ctx, "replica")
		return err == nil && v == "followed"
	})
	mustNotPut(t, replica, "replica")
	if err := master.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	if err := replica.WaitLink(ctx, false); err != nil {
		t.Fatal(err)
	}
	if err := replica.Promote(ctx); err != nil {
		t.Fatal(err)
	}
	mustGet(t, replica, "replica", "followed")
	mustPut(t, replica, "replica", "on its own")
	if err := replica.WaitLink(ctx, true); err == nil {
		t.Error("a promoted one has a link")
	}
	if err := master.Promote(ctx); err == nil {
		t.Error("a master was promoted")
	}
	if err := c.RestartAll(ctx, master, replica); err != nil {
		t.Fatal(err)
	}
	if err := replica.WaitLink(ctx, true); err != nil {
		t.Fatal(err)
	}
}

func TestNoCompiler(t *testing.T) {
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server here")
	}
	dir := t.TempDir()
	if err := os.Symlink(redis, filepath.Join(dir, "redis-server")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	spec := newSpec(t)
	spec.Redis, spec.RedisClock = 1, true
	_, err = NewProcesses().Start(testContext(t), spec)
	oneLine(t, err, "C compiler", "is missing", "apt-get install gcc")
}

func TestPostgresFaults(t *testing.T) {
	onProviders(t, func(t *testing.T, p Provider) {
		spec := newSpec(t)
		spec.Postgres, spec.PostgresSettings = true, map[string]string{"wal_writer_delay": "10s"}
		c, ctx := mustStart(t, p, spec), testContext(t)
		conn, err := pgx.Connect(ctx, c.PostgresDSN())
		if err != nil {
			t.Fatal(err)
		}
		var delay string
		if err := conn.QueryRow(ctx, "SHOW wal_writer_delay").Scan(&delay); err != nil || delay != "10s" {
			t.Errorf("wal_writer_delay is %s: %v", delay, err)
		}
		t.Run("backend", func(t *testing.T) { backendStopped(t, c, conn) })
		_ = conn.Close(ctx)
		mustPut(t, c.Postgres, "k", "kept")
		if err := c.Postgres.Kill(ctx); err != nil {
			t.Fatal(err)
		}
		if err := c.Postgres.Restart(ctx); err != nil {
			t.Fatal(err)
		}
		mustGet(t, c.Postgres, "k", "kept")
		if err := c.Postgres.RestartEmpty(ctx); err != nil {
			t.Fatal(err)
		}
		if v, err := storeOf(c.Postgres).get(ctx, "k"); err == nil {
			t.Errorf("without data it has %q", v)
		}
		mustPut(t, c.Postgres, "k", "again")
		noneFailed(t, c)
	})
}

// backendStopped asserts that one session waits and the others do not, and that
// only idle ones can be made to.
func backendStopped(t *testing.T, c *Cluster, conn *pgx.Conn) {
	ctx := testContext(t)
	pid := int(conn.PgConn().PID())
	if _, err := c.Postgres.StopBackend(ctx, 1<<21); err == nil {
		t.Error("a session that is none was stopped")
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	_, err = c.Postgres.StopBackend(ctx, pid)
	oneLine(t, err, "idle in transaction", strconv.Itoa(pid))
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}

	resume, err := c.Postgres.StopBackend(ctx, pid)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Postgres.StopBackend(ctx, pid); err == nil {
		t.Error("a stopped one was stopped")
	}
	target, err := c.Postgres.body.locate(ctx, pid)
	if err != nil {
		t.Fatal(err)
	}
	stopped := func() bool { state, err := proc.StateOf(target.Pid); return err == nil && state == 'T' }
	if !stopped() {
		t.Error("it is not in state T")
	}
	answered := make(chan error, 1)
	go func() {
		_, err := conn.Exec(ctx, "SELECT 1")
		answered <- err
	}()
	mustPut(t, c.Postgres, "other", "session")
	// The server as a whole stops and goes on without letting this one go on.
	if err := c.Postgres.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if err := resume(ctx); err == nil {
		t.Error("a backend of a stopped server went on")
	}
	if err := c.Postgres.Continue(ctx); err != nil {
		t.Fatal(err)
	}
	mustPut(t, c.Postgres, "other", "session")
	select {
	case err := <-answered:
		t.Errorf("a stopped session answers: %v", err)
	case <-afterMargin():
	}
	if !stopped() {
		t.Error("it is not in state T any more")
	}
	for range 2 { // the second does nothing
		if err := resume(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
	again, err := c.Postgres.StopBackend(ctx, pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := again(ctx); err != nil {
		t.Error(err)
	}
}

func TestSpecIsChecked(t *testing.T) {
	for want, change := range map[string]func(*Spec){
		"cluster name":       func(s *Spec) { s.Name = "No/Name" },
		"needs a master":     func(s *Spec) { s.Redis, s.RedisReplica = 0, true },
		"cannot be chosen":   func(s *Spec) { s.PostgresSettings = map[string]string{"listen_addresses": "*"} },
		"no server is asked": func(s *Spec) { s.Redis, s.Postgres = 0, false },
	} {
		spec := newSpec(t)
		spec.Redis, spec.Postgres = 1, true
		change(&spec)
		oneLine(t, spec.check(), want)
	}
}
