package guard_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/cluster/clustertest"
	"github.com/torture-harness/torture/workloads/guard"
	"github.com/torture-harness/torture/workloads/internal/await"
	"github.com/torture-harness/torture/workloads/point"
)

// attempt is one write, and what must come of it.
type attempt struct {
	name    string
	token   int64
	value   string
	version int64
	request string
	want    error  // nil: accepted
	read    string // what is read afterwards, the name if it is accepted and this is ""
}

// TestCatalogue: what each guard accepts, in the order of arrival.
func TestCatalogue(t *testing.T) {
	c := clustertest.Start(t, cluster.Spec{Postgres: true, Redis: 1})
	rejected := guard.ErrRejected
	newFirst := []attempt{{name: "42", token: 42}, {name: "41", token: 41, want: rejected}, {name: "42 again", token: 42, want: rejected}, {name: "43", token: 43}}
	anyOrder := []attempt{{name: "42", token: 42}, {name: "41", token: 41}, {name: "41 again", token: 41}}
	for name, row := range map[string]struct {
		guard    guard.Guard
		attempts []attempt
	}{
		"fence-two-statements": {guard.FenceTwo{}, newFirst},
		"fence-transaction":    {guard.FenceTwo{Transaction: true}, newFirst},
		"fence-for-update":     {guard.FenceTwo{Transaction: true, Locked: true}, newFirst},
		"fence-content-first":  {guard.FenceContentFirst{}, newFirst},
		"fence-unlogged":       {guard.FenceUnlogged{}, newFirst},
		"fence-trigger":        {guard.FenceTrigger{}, newFirst},
		"a second entry under the trigger": {guard.On{Guard: guard.Plain{}, Is: guard.FenceTrigger{}.Tables()},
			[]attempt{{name: "plain", want: rejected}}},
		"fence-redis":            {guard.NewFenceRedis(c.Redis[0].Addr, c.Redis[0].Password), newFirst},
		"fenced-open":            {guard.FencedOpen{}, newFirst},
		"fenced-repeatable-read": {guard.FencedOpen{Isolation: "REPEATABLE READ"}, newFirst},
		"fenced-rolled-back":     {guard.FencedOpen{RollBack: true}, []attempt{{name: "42", token: 42, want: guard.ErrRolledBack}}},
		"fenced-le": {guard.FencedLE{}, []attempt{{name: "42", token: 42}, {name: "41", token: 41, want: rejected},
			{name: "42 again", token: 42}}},
		"fence-next": {guard.FenceNext{}, []attempt{{name: "7", token: 7, want: rejected}, {name: "1", token: 1},
			{name: "3", token: 3, want: rejected}, {name: "2", token: 2}}},
		"fence-first": {guard.FenceFirst{}, []attempt{{name: "42", token: 42}, {name: "41, which had read before", token: 41},
			{name: "40", token: 40, version: 41, want: rejected}, {name: "43", token: 43, version: 41}}},
		"fence-unchecked": {guard.FenceUnchecked{}, anyOrder},
		"fence-turned":    {guard.FenceTurned{}, []attempt{{name: "42", token: 42, want: rejected}, {name: "less", token: -1}}},
		"fenced-null":     {guard.On{Guard: guard.Fenced{}, Is: guard.Nullable()}, []attempt{{name: "42", token: 42, want: rejected}}},
		"fenced-doubled":  {guard.On{Guard: guard.Fenced{}, Is: guard.Doubled()}, []attempt{{name: "42", token: 42, want: guard.ErrAmbiguous, read: "42"}}},
		"fence-text": {guard.FenceText{}, []attempt{{name: "b", value: "b"}, {name: "a", value: "a", want: rejected},
			{name: "B", value: "B", want: rejected}, {name: "c", value: "c"}}},
		"idempotency": {guard.Idempotency{}, []attempt{{name: "first", request: "1"}, {name: "again", request: "1", want: rejected},
			{name: "another", request: "2"}}},
		"idempotency-no-key": {guard.On{Guard: guard.Idempotency{}, Is: guard.Forgetful()}, []attempt{{name: "first", request: "1"}, {name: "again", request: "1"}}},
		"sink":               {guard.Sink{}, anyOrder},
		"sink-idempotency":   {guard.SinkOnce{}, []attempt{{name: "first", request: "1"}, {name: "again", request: "1", want: rejected}}},
		"sink-version": {guard.SinkVersion{}, []attempt{{name: "first"}, {name: "from the same", want: rejected},
			{name: "next", version: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := openTables(t, c.PostgresDSN(), guard.TablesOf(row.guard))
			last := "init"
			for _, a := range row.attempts {
				err := row.guard.Write(soon(t), s, guard.Update{ID: 1, Document: document(a.name), Token: a.token, Value: a.value, Version: a.version, Request: a.request})
				wantErr(t, a.name, err, a.want)
				switch {
				case a.read != "":
					last = a.read
				case err == nil:
					last = a.name
				}
				got, err := guard.Read(soon(t), s, 1)
				must(t, err)
				if got.Document.WriteID != last {
					t.Fatalf("after %q the row is %q, want %q", a.name, got.Document.WriteID, last)
				}
				if status := s.PgConn().TxStatus(); status != 'I' {
					t.Fatalf("after %q a transaction is open (%c)", a.name, status)
				}
			}
		})
	}
}

// openTables makes fresh tables with one row.
func openTables(t *testing.T, dsn string, tables guard.Tables) *store {
	t.Helper()
	conn, err := pgx.Connect(soon(t), dsn)
	must(t, err)
	schema := "t_" + strings.ToLower(strings.NewReplacer("/", "_", "-", "_").Replace(t.Name()))
	t.Cleanup(func() {
		_, _ = conn.Exec(context.Background(), `DROP SCHEMA `+schema+` CASCADE`)
		_ = conn.Close(context.Background())
	})
	_, err = conn.Exec(soon(t), `CREATE SCHEMA `+schema+`; SET search_path = `+schema)
	must(t, err)
	_, err = conn.Exec(soon(t), tables.Create)
	must(t, err)
	for range tables.Copies {
		_, err = conn.Exec(soon(t), tables.Row, 1, []byte(`{"write_id": "init", "fields": {}}`))
		must(t, err)
	}
	return &store{Conn: conn}
}

// second is another connection to the same tables.
func (s *store) second(t *testing.T) *store {
	t.Helper()
	var schema string
	must(t, s.Conn.QueryRow(soon(t), `SELECT current_schema()`).Scan(&schema))
	conn, err := pgx.ConnectConfig(soon(t), s.Config())
	must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	_, err = conn.Exec(soon(t), `SET search_path = `+schema)
	must(t, err)
	return &store{Conn: conn}
}

// waits returns once the session waits for a lock.
func (s *store) waits(t *testing.T, who *store) {
	t.Helper()
	await.That(t, "a wait for a lock", func() bool {
		var n int
		must(t, s.Conn.QueryRow(soon(t), `SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock'`, who.PgConn().PID()).Scan(&n))
		return n == 1
	})
}

// TestBetween: a newer holder writes while an older one is held between the
// comparison and the write.
func TestBetween(t *testing.T) {
	c := clustertest.Start(t, cluster.Spec{Postgres: true, Redis: 1})
	for name, row := range map[string]struct {
		guard  guard.Guard
		blocks bool  // the newer one must wait for the older
		old    error // of the older write
		newer  error // of the newer
		last   string
	}{
		"fence-two-statements": {guard: guard.FenceTwo{}, last: "41"},
		"fence-transaction":    {guard: guard.FenceTwo{Transaction: true}, last: "41"},
		"fence-for-update":     {guard: guard.FenceTwo{Transaction: true, Locked: true}, blocks: true, last: "42"},
		"fence-redis":          {guard: guard.NewFenceRedis(c.Redis[0].Addr, c.Redis[0].Password), last: "41"},
		"fence-content-first":  {guard: guard.FenceContentFirst{}, last: "42"},
		"fenced-open":          {guard: guard.FencedOpen{}, blocks: true, last: "42"},
		"fenced-rolled-back":   {guard: guard.FencedOpen{RollBack: true}, blocks: true, old: guard.ErrRolledBack, newer: guard.ErrRolledBack, last: "init"},
		"read-committed":       {guard: guard.FencedOpen{Isolation: "READ COMMITTED"}, blocks: true, last: "42"},
		"serializable":         {guard: guard.FencedOpen{Isolation: "SERIALIZABLE"}, blocks: true, newer: errSerialization, last: "41"},
	} {
		t.Run(name, func(t *testing.T) {
			a := openTables(t, c.PostgresDSN(), guard.TablesOf(row.guard))
			b, o := a.second(t), a.second(t)
			arrived, goOn := make(chan struct{}), make(chan struct{})
			held := point.With(soon(t), func(string) { close(arrived); <-goOn })
			old := make(chan error, 1)
			go func() {
				old <- row.guard.Write(held, a, guard.Update{ID: 1, Document: document("41"), Token: 41})
			}()
			<-arrived
			newer := make(chan error, 1)
			ctx := soon(t)
			go func() { newer <- row.guard.Write(ctx, b, guard.Update{ID: 1, Document: document("42"), Token: 42}) }()
			if row.blocks {
				o.waits(t, b)
				close(goOn)
			}
			second := <-newer
			if !row.blocks {
				close(goOn)
			}
			first := <-old
			wantAs(t, "the older", first, row.old)
			wantAs(t, "the newer", second, row.newer)
			got, err := guard.Read(soon(t), o, 1)
			must(t, err)
			if got.Document.WriteID != row.last {
				t.Errorf("the row is %q, want %q", got.Document.WriteID, row.last)
			}
		})
	}
}

// errSerialization stands for SQLSTATE 40001.
var errSerialization = errors.New("40001")

func wantAs(t *testing.T, what string, got, want error) {
	t.Helper()
	if want == errSerialization {
		var pg *pgconn.PgError
		if !errors.As(got, &pg) || pg.Code != "40001" {
			t.Errorf("%s: %v, want SQLSTATE 40001", what, got)
		}
		return
	}
	wantErr(t, what, got, want)
}

// TestRowLock: who reads second waits until the first has committed, and an
// update that is left undone lets it go on.
func TestRowLock(t *testing.T) {
	c := clustertest.Start(t, cluster.Spec{Postgres: true})
	g := guard.RowLock{}
	for name, end := range map[string]func(*store) error{
		"first": func(s *store) error { return g.Write(soon(t), s, guard.Update{ID: 1, Document: document("first")}) },
		"init":  func(s *store) error { return g.Leave(soon(t), s) },
	} {
		t.Run(name, func(t *testing.T) {
			a := openTables(t, c.PostgresDSN(), guard.Usual())
			b, o := a.second(t), a.second(t)
			_, err := g.Enter(soon(t), a, 1, guard.Holder{})
			must(t, err)
			entered := make(chan guard.Entry, 1)
			ctx := soon(t)
			go func() {
				e, err := g.Enter(ctx, b, 1, guard.Holder{})
				if err != nil {
					t.Error(err)
				}
				entered <- e
			}()
			o.waits(t, b)
			must(t, end(a))
			if got := <-entered; got.Document.WriteID != name {
				t.Errorf("the second read %q, want %q", got.Document.WriteID, name)
			}
			must(t, g.Write(soon(t), b, guard.Update{ID: 1, Document: document("second")}))
			o.want(t, row{"second", 0, 0})
			_, err = g.Enter(soon(t), b, 7, guard.Holder{})
			wantErr(t, "a missing row", err, guard.ErrMissing)
			if status := b.PgConn().TxStatus(); status != 'I' {
				t.Errorf("a transaction is left open (%c)", status)
			}
		})
	}
}

// TestOwner: whoever marks last may write, whatever its age.
func TestOwner(t *testing.T) {
	c := clustertest.Start(t, cluster.Spec{Postgres: true})
	g := guard.Owner{}
	s := openTables(t, c.PostgresDSN(), g.Tables())
	for _, value := range []string{"b", "a"} {
		_, err := g.Enter(soon(t), s, 1, guard.Holder{Value: value})
		must(t, err)
	}
	wantErr(t, "the first mark", g.Write(soon(t), s, guard.Update{ID: 1, Document: document("b"), Value: "b"}), guard.ErrRejected)
	must(t, g.Write(soon(t), s, guard.Update{ID: 1, Document: document("a"), Value: "a"}))
	s.want(t, row{"a", 0, 0})
}

// TestSinkOrder: records become visible in the order of their positions, which
// is that of a journal kept beside them.
func TestSinkOrder(t *testing.T) {
	c := clustertest.Start(t, cluster.Spec{Postgres: true})
	tables := guard.Sink{}.Tables()
	s := openTables(t, c.PostgresDSN(), tables)
	_, err := s.Exec(soon(t), `CREATE TABLE journal (seq bigint GENERATED ALWAYS AS IDENTITY, write_id text);
		CREATE FUNCTION journal_write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO journal (write_id) VALUES (NEW.payload->>'write_id'); RETURN NULL; END $$;`+tables.Journal)
	must(t, err)
	done := make(chan error, 8)
	for i := range 8 {
		conn := s.second(t)
		go func() {
			for n := range 25 {
				ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
				err := guard.Sink{}.Write(ctx, conn, guard.Update{ID: 1, Document: document(string(rune('a'+i)) + string(rune('a'+n)))})
				cancel()
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		must(t, <-done)
	}
	order := func(sql string) []string {
		rows, err := s.Conn.Query(soon(t), sql)
		must(t, err)
		ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
		must(t, err)
		return ids
	}
	sunk, journalled := order(`SELECT payload->>'write_id' FROM sink WHERE seq > 1 ORDER BY seq`), order(`SELECT write_id FROM journal ORDER BY seq`)
	sunk = slices.DeleteFunc(sunk, func(id string) bool { return id == "init" })
	if len(journalled) != 200 || !slices.Equal(sunk, journalled) {
		t.Errorf("%d records and %d in the journal, or another order", len(sunk), len(journalled))
	}
}
