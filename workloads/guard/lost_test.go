package guard_test

import (
	"context"
	"net"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/cluster/clustertest"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/wire"
	"github.com/torture-harness/torture/workloads/guard"
	"github.com/torture-harness/torture/workloads/outcome"
)

// The answer to COMMIT is lost: the write is there, and nobody may take it for failed.
func TestLostCommitIsUnknown(t *testing.T) {
	c := clustertest.Start(t, cluster.Spec{Postgres: true})
	s := open(t, c.PostgresDSN())
	for _, ddl := range []string{`DROP TABLE IF EXISTS request`, `CREATE TABLE request (id text PRIMARY KEY)`} {
		_, err := s.Exec(soon(t), ddl)
		must(t, err)
	}
	dsn, err := url.Parse(c.PostgresDSN())
	must(t, err)
	net, err := wire.Listen(dsn.Host)
	must(t, err)
	t.Cleanup(func() { _ = net.Close() })
	dsn.Host = net.Addr()
	conn, err := pgx.Connect(soon(t), dsn.String())
	must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })

	net.CutReplies(wire.Containing("COMMIT"))
	err = guard.Idempotency{}.Write(soon(t), conn, guard.Update{ID: 1, Document: document("lost"), Request: "q"})
	if got := outcome.Postgres(err); got != history.Info {
		t.Errorf("a write whose commit was not answered is %s: %v", got, err)
	}
	s.want(t, row{"lost", 0, 0})
}

// A keeper in memory compares as the row does, until it ends.
func TestFenceMemory(t *testing.T) {
	c := clustertest.Start(t, cluster.Spec{Postgres: true})
	s := open(t, c.PostgresDSN())
	keeper := func(addr string) net.Listener {
		l, err := net.Listen("tcp", addr)
		must(t, err)
		t.Cleanup(func() { _ = l.Close() })
		go new(guard.Keeper).Serve(l)
		return l
	}
	first := keeper("127.0.0.1:0")
	g, err := guard.NewFenceMemory(first.Addr().String())
	must(t, err)
	write := func(id string, token int64) error {
		return g.Write(soon(t), s, guard.Update{ID: 1, Document: document(id), Token: token})
	}
	must(t, write("forty-two", 42))
	wantErr(t, "41 after 42", write("forty-one", 41), guard.ErrRejected)
	wantErr(t, "42 again", write("again", 42), guard.ErrRejected)
	s.want(t, row{"forty-two", 0, 0})
	if last, err := g.Last(soon(t), 1); err != nil || last != 42 {
		t.Errorf("the number is %d (%v), want 42", last, err)
	}

	must(t, first.Close())
	wantErr(t, "without a keeper", write("nobody", 43), guard.ErrRolledBack)
	keeper(first.Addr().String())
	must(t, write("forty-one", 41))
	s.want(t, row{"forty-one", 0, 0})

	if _, err := guard.NewFenceMemory(""); err == nil {
		t.Error("no keeper is no error")
	}
}
