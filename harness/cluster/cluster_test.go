package cluster

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/torture-harness/torture/harness/guardian/pidfd"
	"github.com/torture-harness/torture/harness/proc"
)

// TestServers asks of one cluster per provider all that needs a running one.
func TestServers(t *testing.T) {
	onProviders(t, func(t *testing.T, p Provider) {
		spec := newSpec(t)
		spec.Redis, spec.Etcd, spec.Postgres, spec.MaxConnections = 2, 3, true, 40
		c := mustStart(t, p, spec)
		t.Run("says what it is", func(t *testing.T) { saysWhatItIs(t, p, spec, c) })
		t.Run("loopback only", func(t *testing.T) { loopbackOnly(t, c) })
		t.Run("wrong password", func(t *testing.T) { wrongPassword(t, c) })
		one := []*Server{c.Redis[1], c.Etcd[1], c.Postgres}
		for _, s := range one {
			t.Run(s.Name+" stop", func(t *testing.T) { stopAndContinue(t, s) })
			t.Run(s.Name+" kill", func(t *testing.T) { killAndRestart(t, s) })
		}
		t.Run("postgres stops its backends", func(t *testing.T) { stopsBackends(t, c) })
		select {
		case err := <-c.Failed():
			t.Errorf("a server is said to have ended by itself: %v", err)
		default:
		}
		t.Run("close when stopped", func(t *testing.T) {
			for _, s := range one {
				if err := s.Stop(testContext(t)); err != nil {
					t.Error(err)
				}
			}
		}) // the cleanups close it and then look for what is left
	})
}

func saysWhatItIs(t *testing.T, p Provider, spec Spec, c *Cluster) {
	for _, kind := range []string{"redis", "etcd", "postgres"} {
		if v := c.Versions[kind]; v == "" || v[0] < '1' || v[0] > '9' {
			t.Errorf("version of %s: %q", kind, v)
		}
		if got := c.Images[kind] != ""; got != (p.Name() == "container") {
			t.Errorf("image of %s: %q", kind, c.Images[kind])
		}
	}
	var names []string
	for _, s := range c.Servers() {
		names = append(names, s.Name)
		if want := filepath.Join(spec.Dir, "logs", s.Name+".log"); s.Log != want {
			t.Errorf("log of %s: %s, want %s", s.Name, s.Log, want)
		}
	}
	want := []string{"redis-1", "redis-2", "etcd-1", "etcd-2", "etcd-3", "postgres"}
	if !slices.Equal(names, want) {
		t.Errorf("servers %v, want %v", names, want)
	}
	for _, name := range []string{"redis-1", "postgres"} { // etcd warns of nothing
		if len(tail(filepath.Join(spec.Dir, "logs", name+".log"), 1)) == 0 {
			t.Errorf("the log of %s is empty", name)
		}
	}
	ctx := testContext(t)
	conn, err := pgx.Connect(ctx, c.PostgresDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for setting, want := range map[string]string{"max_connections": "40", "fsync": "on", "jit": "off", "idle_session_timeout": "0"} {
		var got string
		if err := conn.QueryRow(ctx, "SELECT current_setting($1)", setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, want %s: %v", setting, got, want, err)
		}
	}
}

// loopbackOnly reads from the kernel on which addresses the ports are open.
func loopbackOnly(t *testing.T, c *Cluster) {
	listening := listeners(t)
	for _, s := range c.Servers() {
		if got := listening[s.port.number]; !slices.Equal(got, []string{"0100007F"}) {
			t.Errorf("%s (port %d) listens on %v, want 0100007F (127.0.0.1) alone", s.Name, s.port.number, got)
		}
	}
}

// listeners maps ports to the addresses on which somebody listens there, as
// /proc/net/tcp and tcp6 have them.
func listeners(t *testing.T) map[int][]string {
	t.Helper()
	found := map[int][]string{}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		content, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue // no IPv6 here
		}
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			const listen = "0A"
			f := strings.Fields(line)
			if len(f) < 4 || f[3] != listen {
				continue
			}
			addr, port, _ := strings.Cut(f[1], ":")
			number, err := strconv.ParseInt(port, 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			found[int(number)] = append(found[int(number)], addr)
		}
	}
	return found
}

func wrongPassword(t *testing.T, c *Cluster) {
	ctx := testContext(t)
	for _, password := range []string{"", "wrong"} {
		r := Server{Addr: c.Redis[0].Addr, Password: password}
		err := redisStore{&r}.put(ctx, "k", "v")
		if err == nil || !strings.Contains(err.Error(), "NOAUTH") && !strings.Contains(err.Error(), "WRONGPASS") {
			t.Errorf("redis with password %q: %v", password, err)
		}
		p := Server{Addr: c.Postgres.Addr, User: superuser, Password: password}
		err = postgresStore{&p}.put(ctx, "k", "v")
		const invalidPassword = "28P01"
		var answer *pgconn.PgError
		asked := errors.As(err, &answer) && answer.Code == invalidPassword
		if password == "" {
			asked = err != nil // the client itself may refuse to send none
		}
		if !asked {
			t.Errorf("postgres with password %q: %v", password, err)
		}
	}
}

func stopAndContinue(t *testing.T, s *Server) {
	ctx := testContext(t)
	mustPut(t, s, "stop", "before")
	if err := s.Continue(ctx); err == nil {
		t.Error("a running server was continued")
	}
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(ctx); err == nil {
		t.Error("a stopped server was stopped")
	}
	assertStopped(t, s)
	mustNotPut(t, s, "stop")
	conn, err := net.Dial("tcp", s.Addr) // the kernel still takes connections
	if err != nil {
		t.Errorf("a stopped server refuses connections: %v", err)
	} else {
		_ = conn.Close()
	}
	if err := s.Continue(ctx); err != nil {
		t.Fatal(err)
	}
	mustPut(t, s, "stop", "after")
	mustGet(t, s, "stop", "after")
}

// assertStopped looks at what the server runs in, with other eyes than Stop's.
func assertStopped(t *testing.T, s *Server) {
	t.Helper()
	b, ok := s.body.(*processBody)
	if !ok {
		return // a frozen process shows no state of its own; mustNotPut has to do
	}
	all := pidfd.WorkingIn(b.dir, b.host.binaries)
	if s.Kind == Postgres && len(all) < 4 {
		t.Errorf("PostgreSQL has only the processes %v", all)
	}
	for _, p := range all {
		if state, err := proc.StateOf(p.Pid); err != nil || state != 'T' {
			t.Errorf("process %d of %s is in state %c: %v", p.Pid, s.Name, state, err)
		}
	}
}

func killAndRestart(t *testing.T, s *Server) {
	ctx := testContext(t)
	mustPut(t, s, "kill", "kept")
	mustGet(t, s, "kill", "kept") // for etcd: this member has it
	addr := s.Addr
	if err := s.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	if s.State() != Killed {
		t.Errorf("it is %s", s.State())
	}
	if conn, err := net.Dial("tcp", addr); err == nil {
		_ = conn.Close()
		t.Error("a killed server takes connections")
	}
	if err := s.Kill(ctx); err == nil {
		t.Error("a killed server was killed")
	}
	if err := s.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if s.Addr != addr {
		t.Errorf("it has moved from %s to %s", addr, s.Addr)
	}
	if s.Kind != Redis { // which keeps nothing
		mustGet(t, s, "kill", "kept")
	}
	mustPut(t, s, "kill", "again")
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(ctx); err != nil {
		t.Fatalf("restart of a stopped server: %v", err)
	}
	mustPut(t, s, "kill", "again")
}

// stopsBackends asserts that a session that is open when PostgreSQL is stopped
// gets no answer, and gets it when PostgreSQL is continued.
func stopsBackends(t *testing.T, c *Cluster) {
	ctx := testContext(t)
	conn, err := pgx.Connect(ctx, c.PostgresDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if err := c.Postgres.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	sent := make(chan struct{})
	go func() {
		close(sent)
		var one int
		err := conn.QueryRow(ctx, "SELECT 1").Scan(&one)
		if err == nil && one != 1 {
			err = fmt.Errorf("one is %d", one)
		}
		answered <- err
	}()
	<-sent
	select {
	case err := <-answered:
		t.Errorf("a session of a stopped server answers: %v", err)
	case <-afterMargin():
	}
	if err := c.Postgres.Continue(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
}
