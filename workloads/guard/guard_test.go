package guard_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/cluster/clustertest"
	"github.com/torture-harness/torture/workloads/guard"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Main(m, nil)) }

// store is a real PostgreSQL with the table, and what was sent to it.
type store struct {
	*pgx.Conn
	sent []statement
}

type statement struct {
	sql  string
	args []any
}

// QueryRow notes what goes through it.
func (s *store) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	s.sent = append(s.sent, statement{sql, args})
	return s.Conn.QueryRow(ctx, sql, args...)
}

// Query notes what goes through it.
func (s *store) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	s.sent = append(s.sent, statement{sql, args})
	return s.Conn.Query(ctx, sql, args...)
}

// row is row 1 of the table as it is.
type row struct {
	writeID string
	fence   int64
	version int64
}

func (s *store) row(t *testing.T) row {
	t.Helper()
	var r row
	must(t, s.Conn.QueryRow(soon(t), `SELECT payload->>'write_id', last_fence, version FROM config WHERE id = 1`).
		Scan(&r.writeID, &r.fence, &r.version))
	return r
}

func (s *store) want(t *testing.T, want row) {
	t.Helper()
	if got := s.row(t); got != want {
		t.Fatalf("the row is %+v, want %+v", got, want)
	}
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// document is one that is told from others by its id.
func document(id string) guard.Document {
	return guard.Document{WriteID: id, Grant: "g-" + id, Basis: "init", Fields: map[string]int{"w1/r00": 1, "w2/r00": 2}}
}

func TestGuards(t *testing.T) {
	c := clustertest.Start(t, cluster.Spec{Postgres: true})
	for name, test := range map[string]func(*testing.T, *store){
		"plain": plain, "fenced": fenced, "claim": claim, "version": version,
		"what is written is read": roundTrip, "a damaged document": damaged, "a database error is none of ours": databaseError,
		"statements": statements,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t, c.PostgresDSN())) })
	}
}

// open makes a fresh table with one row.
func open(t *testing.T, dsn string) *store {
	t.Helper()
	conn, err := pgx.Connect(soon(t), dsn)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	_, err = conn.Exec(soon(t), `DROP TABLE IF EXISTS config; `+guard.Table+`; INSERT INTO config (id, payload) VALUES (1, '{"write_id": "init", "fields": {}}')`)
	must(t, err)
	s := &store{Conn: conn}
	s.want(t, row{"init", 0, 0})
	return s
}

func plain(t *testing.T, s *store) {
	g := guard.Plain{}
	for _, id := range []string{"new", "old"} {
		must(t, g.Write(soon(t), s, guard.Update{ID: 1, Document: document(id), Token: 42}))
		s.want(t, row{id, 0, 0})
	}
	missing(t, s, g)
}

func fenced(t *testing.T, s *store) {
	g := guard.Fenced{}
	write := func(id string, token int64) error {
		return g.Write(soon(t), s, guard.Update{ID: 1, Document: document(id), Token: token})
	}
	must(t, write("forty-two", 42))
	s.want(t, row{"forty-two", 42, 0})
	wantErr(t, "41 after 42", write("forty-one", 41), guard.ErrRejected)
	wantErr(t, "42 again", write("again", 42), guard.ErrRejected)
	s.want(t, row{"forty-two", 42, 0})

	// Reading does not raise the fence: an older holder that writes first may.
	_, err := g.Enter(soon(t), s, 1, guard.Holder{Token: 44})
	must(t, err)
	must(t, write("forty-three", 43))
	must(t, write("forty-four", 44))
	s.want(t, row{"forty-four", 44, 0})
	missing(t, s, g)
}

func claim(t *testing.T, s *store) {
	g := guard.Claim{}
	enter := func(token int64) error {
		_, err := g.Enter(soon(t), s, 1, guard.Holder{Token: token})
		return err
	}
	write := func(id string, token int64) error {
		return g.Write(soon(t), s, guard.Update{ID: 1, Document: document(id), Token: token})
	}
	wantErr(t, "a write without a claim", write("unclaimed", 41), guard.ErrRejected)
	must(t, enter(41))
	s.want(t, row{"init", 41, 0}) // a claim writes nothing
	for _, id := range []string{"one", "two", "three"} {
		must(t, write(id, 41))
		s.want(t, row{id, 41, 0})
	}
	entry, err := g.Enter(soon(t), s, 1, guard.Holder{Token: 42})
	must(t, err)
	if entry.Document.WriteID != "three" {
		t.Errorf("the claim read %q", entry.Document.WriteID)
	}
	wantErr(t, "41 after the claim of 42", write("late", 41), guard.ErrRejected)
	wantErr(t, "43, which has not claimed", write("early", 43), guard.ErrRejected)
	wantErr(t, "a claim of 41 after that of 42", enter(41), guard.ErrRejected)
	wantErr(t, "a second claim of 42", enter(42), guard.ErrRejected)
	must(t, write("forty-two", 42))
	s.want(t, row{"forty-two", 42, 0})

	_, err = g.Enter(soon(t), s, 7, guard.Holder{Token: 42})
	wantErr(t, "a claim of a missing row", err, guard.ErrRejected)
	wantErr(t, "a write of a missing row", g.Write(soon(t), s, guard.Update{ID: 7, Document: document("x"), Token: 42}), guard.ErrRejected)
}

func version(t *testing.T, s *store) {
	g := guard.Version{}
	first, err := g.Enter(soon(t), s, 1, guard.Holder{})
	must(t, err)
	second, err := g.Enter(soon(t), s, 1, guard.Holder{})
	must(t, err)
	must(t, g.Write(soon(t), s, guard.Update{ID: 1, Document: document("first"), Version: first.Version}))
	s.want(t, row{"first", 0, 1})
	wantErr(t, "an update of the version before", g.Write(soon(t), s, guard.Update{ID: 1, Document: document("second"), Version: second.Version}), guard.ErrRejected)
	wantErr(t, "an update of a version to come", g.Write(soon(t), s, guard.Update{ID: 1, Document: document("future"), Version: 2}), guard.ErrRejected)
	s.want(t, row{"first", 0, 1})
	third, err := g.Enter(soon(t), s, 1, guard.Holder{})
	must(t, err)
	must(t, g.Write(soon(t), s, guard.Update{ID: 1, Document: document("third"), Version: third.Version}))
	s.want(t, row{"third", 0, 2})
	missing(t, s, g)
}

// missing: a write of a row that is not there looks like one that is refused,
// so a read must be able to tell.
func missing(t *testing.T, s *store, g guard.Guard) {
	t.Helper()
	wantErr(t, "a write of a missing row", g.Write(soon(t), s, guard.Update{ID: 7, Document: document("x"), Token: 99, Version: 0}), guard.ErrRejected)
	_, err := g.Enter(soon(t), s, 7, guard.Holder{Token: 99})
	wantErr(t, "entering a missing row", err, guard.ErrMissing)
	_, err = guard.Read(soon(t), s, 7)
	wantErr(t, "a read of a missing row", err, guard.ErrMissing)
}

func roundTrip(t *testing.T, s *store) {
	want := document("w1-7")
	must(t, guard.Plain{}.Write(soon(t), s, guard.Update{ID: 1, Document: want}))
	got, err := guard.Read(soon(t), s, 1)
	must(t, err)
	if d := got.Document; d.WriteID != want.WriteID || d.Grant != want.Grant || d.Basis != want.Basis || !maps.Equal(d.Fields, want.Fields) {
		t.Errorf("read %+v, want %+v", d, want)
	}
}

func damaged(t *testing.T, s *store) {
	_, err := s.Exec(soon(t), `UPDATE config SET payload = '[1]' WHERE id = 1`)
	must(t, err)
	if _, err := guard.Read(soon(t), s, 1); err == nil || !strings.Contains(err.Error(), "document in the store") {
		t.Errorf("a document that is none: %v", err)
	}
}

// databaseError: what is neither a row nor no row is left to the outcome table.
func databaseError(t *testing.T, s *store) {
	_, err := s.Exec(soon(t), `ALTER TABLE config RENAME TO elsewhere`)
	must(t, err)
	t.Cleanup(func() { _, _ = s.Exec(context.Background(), `DROP TABLE elsewhere`) })
	for _, g := range []guard.Guard{guard.Plain{}, guard.Fenced{}, guard.Claim{}, guard.Version{}} {
		_, enter := g.Enter(soon(t), s, 1, guard.Holder{Token: 1})
		write := g.Write(soon(t), s, guard.Update{ID: 1, Document: document("x"), Token: 1})
		for _, err := range []error{enter, write} {
			if err == nil || errors.Is(err, guard.ErrRejected) || errors.Is(err, guard.ErrMissing) {
				t.Errorf("%T without its table: %v", g, err)
			}
		}
	}
}

// statements: each is one statement, exactly the one that is published.
func statements(t *testing.T, s *store) {
	const read = `SELECT payload, version FROM config WHERE id = $1`
	for _, c := range []struct {
		guard        guard.Guard
		enter, write string
		enterArgs    []any
		writeArgs    []any // behind the payload
	}{
		{guard.Plain{}, read, `UPDATE config SET payload = $1 WHERE id = $2 RETURNING id`, []any{int64(1)}, []any{int64(1)}},
		{guard.Fenced{}, read, `UPDATE config SET payload = $1, last_fence = $2 WHERE id = $3 AND last_fence < $2 RETURNING id`,
			[]any{int64(1)}, []any{int64(42), int64(1)}},
		{guard.Claim{}, `UPDATE config SET last_fence = $1 WHERE id = $2 AND last_fence < $1 RETURNING payload`,
			`UPDATE config SET payload = $1 WHERE id = $2 AND last_fence = $3 RETURNING id`,
			[]any{int64(42), int64(1)}, []any{int64(1), int64(42)}},
		{guard.Version{}, read, `UPDATE config SET payload = $1, version = version + 1 WHERE id = $2 AND version = $3 RETURNING id`,
			[]any{int64(1)}, []any{int64(1), int64(5)}},
	} {
		s.sent = nil
		_, err := c.guard.Enter(soon(t), s, 1, guard.Holder{Token: 42})
		if err != nil && !errors.Is(err, guard.ErrRejected) {
			t.Fatal(err)
		}
		if err := c.guard.Write(soon(t), s, guard.Update{ID: 1, Document: document("x"), Token: 42, Version: 5}); err != nil && !errors.Is(err, guard.ErrRejected) {
			t.Fatal(err)
		}
		if len(s.sent) != 2 || s.sent[0].sql != c.enter || s.sent[1].sql != c.write {
			t.Errorf("%T sent %q", c.guard, s.sent)
			continue
		}
		if !slices.Equal(s.sent[0].args, c.enterArgs) || !slices.Equal(s.sent[1].args[1:], c.writeArgs) {
			t.Errorf("%T sent %v and %v", c.guard, s.sent[0].args, s.sent[1].args[1:])
		}
		// What the server received is what was passed to the library.
		var last string
		must(t, s.Conn.QueryRow(soon(t), `SELECT statement FROM pg_prepared_statements WHERE statement = $1`, c.write).Scan(&last))
	}
}
