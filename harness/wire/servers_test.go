package wire_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/cluster/clustertest"
	"github.com/torture-harness/torture/harness/wire"
)

func redisAt(t *testing.T, addr string, s *cluster.Server) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, Password: s.Password, Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1,
		ReadTimeout: patience, WriteTimeout: patience, ContextTimeoutEnabled: true})
	t.Cleanup(func() { c.Close() })
	return c
}

func postgresAt(t *testing.T, addr string, c *cluster.Cluster, name string) *pgx.Conn {
	t.Helper()
	u, err := url.Parse(c.PostgresDSN())
	if err != nil {
		t.Fatal(err)
	}
	u.Host = addr
	q := u.Query()
	q.Set("application_name", name)
	u.RawQuery = q.Encode()
	conn, err := pgx.Connect(ctxOf(t), u.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		conn.Close(ctx)
	})
	return conn
}

func TestRedis(t *testing.T) {
	servers := clustertest.Start(t, cluster.Spec{Redis: 1})
	s := servers.Redis[0]
	p := proxyTo(t, s.Addr)
	direct, through := redisAt(t, s.Addr, s), redisAt(t, p.Addr(), s)
	ctx := ctxOf(t)
	value := func(key string) string {
		t.Helper()
		v, err := direct.Get(ctx, key).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			t.Fatal(err)
		}
		return v
	}

	t.Run("a held SET is executed at the release", func(t *testing.T) {
		p.HoldRequests(wire.Containing("lock-1"))
		answer := make(chan error, 1)
		go func() { answer <- through.Set(ctx, "lock-1", "a", 0).Err() }()
		held := awaitHeld(t, p, 1)
		if err := through.Ping(ctx).Err(); err != nil { // another connection is none of it
			t.Error(err)
		}
		if got := value("lock-1"); got != "" {
			t.Fatalf("the held SET was executed: %q", got)
		}
		select {
		case err := <-answer:
			t.Fatalf("the held SET was answered: %v", err)
		default:
		}
		p.Release()
		if err := <-answer; err != nil || value("lock-1") != "a" {
			t.Errorf("after the release: %v, the value is %q", err, value("lock-1"))
		}
		if st := held[0].Stats(); st.HeldRequests != 0 || st.Requests == 0 {
			t.Errorf("counted %+v", st)
		}
	})
	t.Run("a SET that was given up arrives later", func(t *testing.T) {
		p.HoldRequests(wire.Containing("lock-2"))
		impatient, cancel := context.WithCancel(ctx)
		answer := make(chan error, 1)
		go func() { answer <- through.Set(impatient, "lock-2", "ghost", 0).Err() }()
		held := awaitHeld(t, p, 1)
		cancel()
		// go-redis looks at deadlines only, so give it one that has passed.
		short, end := context.WithTimeout(ctx, 50*time.Millisecond)
		defer end()
		if err := through.Set(short, "lock-2", "ghost-2", 0).Err(); err == nil {
			t.Fatal("a held SET was answered")
		}
		both := awaitHeld(t, p, 2)
		if got := value("lock-2"); got != "" {
			t.Fatalf("a held SET was executed: %q", got)
		}
		ghost := both[0]
		if ghost == held[0] {
			ghost = both[1]
		}
		for !ghost.Stats().ClientGone {
			time.Sleep(time.Millisecond)
		}
		p.Release(wire.Only(ghost))
		for value("lock-2") != "ghost-2" {
			if ctx.Err() != nil {
				t.Fatalf("the ghost never came: %q", value("lock-2"))
			}
			time.Sleep(time.Millisecond)
		}
		p.Heal()
		if err := <-answer; err != nil {
			t.Error(err)
		}
	})
	t.Run("the reply of an executed SET is lost", func(t *testing.T) {
		p.HoldRequests(wire.Containing("lock-3"))
		answer := make(chan error, 1)
		go func() { answer <- through.Set(ctx, "lock-3", "a", 0).Err() }()
		held := awaitHeld(t, p, 1)
		p.CutReplies(wire.Only(held...))
		p.Release()
		if err := <-answer; err == nil {
			t.Error("the lost reply was read")
		}
		if st := held[0].Stats(); value("lock-3") != "a" || !st.ReplyCut || st.Dropped != int64(len("+OK\r\n")) {
			t.Errorf("the value is %q, counted %+v", value("lock-3"), st)
		}
		if err := through.Ping(ctx).Err(); err != nil { // on a new connection
			t.Error(err)
		}
		p.Heal()
	})
}

func TestPostgres(t *testing.T) {
	servers := clustertest.Start(t, cluster.Spec{Postgres: true})
	p := proxyTo(t, servers.Postgres.Addr)
	ctx := ctxOf(t)
	direct := postgresAt(t, servers.Postgres.Addr, servers, "observer")
	if _, err := direct.Exec(ctx, `CREATE TABLE config (id bigint PRIMARY KEY, payload text NOT NULL)`); err != nil {
		t.Fatal(err)
	}
	if _, err := direct.Exec(ctx, `INSERT INTO config VALUES (1, 'v0')`); err != nil {
		t.Fatal(err)
	}
	payload := func() (v string) {
		t.Helper()
		if err := direct.QueryRow(ctx, `SELECT payload FROM config`).Scan(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	write := func(c *pgx.Conn, v string) <-chan error {
		done := make(chan error, 1)
		go func() {
			var id int64
			done <- c.QueryRow(ctx, `UPDATE config SET payload = $1 WHERE id = 1 RETURNING id`, v).Scan(&id)
		}()
		return done
	}
	a, b := postgresAt(t, p.Addr(), servers, "cell/w1/r00"), postgresAt(t, p.Addr(), servers, "cell/w2/r00")
	if conns := p.Conns(wire.NamePrefix("cell/")); len(conns) != 2 || conns[0].Name() != "cell/w1/r00" || len(p.Conns(wire.Named("cell/w2/r00"))) != 1 {
		t.Fatalf("the connections are %v", conns)
	}

	p.HoldRequests(wire.Named("cell/w1/r00"))
	late := write(a, "A")
	held := awaitHeld(t, p, 1)
	if err := <-write(b, "B"); err != nil {
		t.Fatal(err)
	}
	if payload() != "B" || held[0].Name() != "cell/w1/r00" || held[0].Stats().HeldRequests == 0 {
		t.Fatalf("the row has %q, held is %+v", payload(), held[0].Stats())
	}
	p.Release()
	if err := <-late; err != nil || payload() != "A" { // the delayed write lands last
		t.Fatalf("%v, and the row has %q", err, payload())
	}

	// The reply is lost, the write is not. The first time the statement is known
	// to the server already, so the held request is the write itself.
	p.HoldRequests(wire.Named("cell/w1/r00"))
	lost := write(a, "A2")
	held = awaitHeld(t, p, 1)
	p.CutReplies(wire.Only(held...))
	p.Release()
	var network net.Error
	if err := <-lost; err == nil || errors.As(err, &network) && network.Timeout() {
		t.Errorf("the lost reply gave %v", err)
	}
	if payload() != "A2" {
		t.Errorf("the row has %q", payload())
	}

	// A connection that is opened while its name is held hangs from its startup on.
	p.Heal()
	p.HoldRequests(wire.Named("cell/w3/r00"))
	opened := make(chan error, 1)
	go func() {
		u, _ := url.Parse(servers.PostgresDSN())
		u.Host = p.Addr()
		u.RawQuery += "&application_name=cell/w3/r00"
		c, err := pgx.Connect(ctx, u.String())
		if err == nil {
			err = c.Close(ctx)
		}
		opened <- err
	}()
	awaitHeld(t, p, 1)
	select {
	case err := <-opened:
		t.Fatalf("it was opened: %v", err)
	default:
	}
	p.Release()
	if err := <-opened; err != nil {
		t.Error(err)
	}
}
