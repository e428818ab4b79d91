package store

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/cluster/clustertest"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/guard"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Main(m, nil)) }

func TestStore(t *testing.T) {
	servers := clustertest.Start(t, cluster.Spec{Postgres: true})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := Open(ctx, Rows{Postgres: servers.PostgresDSN(), Schema: "cell", Resources: []string{"r00", "r01"}, Tables: guard.Usual()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	client, err := pgx.Connect(ctx, WithSchema(servers.PostgresDSN(), "cell")+"&application_name=cell/w1/r00")
	if err != nil {
		t.Fatal(err)
	}
	exec := func(sql string) {
		t.Helper()
		if _, err := client.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}

	// Every way to change the payload is in the journal, in its order; a change
	// of the fence alone is a claim and no write.
	exec(`UPDATE config SET payload = '{"write_id":"a","grant":"g1","basis":"init"}', last_fence = 7 WHERE id = 0`)
	exec(`UPDATE config SET last_fence = 8 WHERE id = 0`)
	exec(`UPDATE config SET payload = jsonb_set(payload, '{write_id}', '"b"') WHERE id = 0`)
	exec(`BEGIN; UPDATE config SET payload = '{"write_id":"rolled back"}'; ROLLBACK`)
	entries, err := s.Journal(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 || entries[0].WriteID != "a" || entries[1].WriteID != "b" || entries[0].Seq >= entries[1].Seq {
		t.Errorf("journal: %+v", entries)
	}
	if e := entries[0]; e.Resource != "r00" || e.Grant != "g1" || e.Basis != "init" || e.LastFence != 7 || e.BackendPID != int(client.PgConn().PID()) || e.Time == "" {
		t.Errorf("entry: %+v", e)
	}

	// The observer sees all rows in one statement, and notices one that is gone.
	var events []history.Event
	o := &Observer{store: s, rows: 2, record: func(e history.Event) { events = append(events, e) }}
	if err := o.Read(ctx); err != nil {
		t.Fatal(err)
	}
	if last := events[len(events)-1]; last.Seen["r00"] != "b" || last.Seen["r01"] != history.InitialWrite {
		t.Errorf("seen: %v", last.Seen)
	}
	exec(`DELETE FROM config WHERE id = 1`)
	if err := o.Read(ctx); !errors.Is(err, errNoRows) {
		t.Errorf("a missing row: %v", err)
	}
	if last := events[len(events)-1]; last.Outcome != history.Fail || last.Seen != nil {
		t.Errorf("a read without a row: %+v", last)
	}

	// Quiet only once the client's backend is gone.
	waiting, err := openSecond(ctx, servers.PostgresDSN(), "cell", s.resources)
	if err != nil {
		t.Fatal(err)
	}
	defer waiting.Close()
	quiet := make(chan error, 1)
	go func() { quiet <- waiting.Quiesce(ctx, "cell/") }()
	asked := func() bool { // the question has been put, and answered with one client
		var n int
		err := s.conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%starts_with(application_name%' AND pid = $1 AND state = 'idle'`, waiting.conn.PgConn().PID()).Scan(&n)
		return err == nil && n == 1
	}
	for end := time.Now().Add(30 * time.Second); !asked(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("quiesce does not ask")
		}
	}
	select {
	case err := <-quiet:
		t.Errorf("quiet although a client is there: %v", err)
	default:
	}
	if err := client.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-quiet; err != nil {
		t.Error(err)
	}
	if err := s.Drop(ctx); err != nil {
		t.Error(err)
	}
}
