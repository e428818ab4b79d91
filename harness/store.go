package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/guard"
)

// store is the harness' own connection to the PostgreSQL of a cell.
type store struct {
	conn      *pgx.Conn
	schema    string
	resources []string
}

// The journal is kept by the store itself, under the row lock, so its order is
// the order of acceptance, and no guard or bypass can forget it. A claim leaves
// the payload as it was and is no write.
const journalDDL = `
CREATE TABLE journal (
	seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id bigint NOT NULL,
	write_id text, holder text, basis text, last_fence bigint, backend_pid int, at timestamptz);
CREATE FUNCTION journal_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO %[1]s.journal (id, write_id, holder, basis, last_fence, backend_pid, at)
	VALUES (NEW.id, NEW.payload->>'write_id', NEW.payload->>'grant', NEW.payload->>'basis', NEW.last_fence, pg_backend_pid(), clock_timestamp());
	RETURN NULL;
END $$;
CREATE TRIGGER journal AFTER UPDATE ON config FOR EACH ROW
	WHEN (OLD.payload IS DISTINCT FROM NEW.payload) EXECUTE FUNCTION journal_write();`

// openStore makes a schema of its own for a cell, with one row per resource.
func openStore(ctx context.Context, dsn, schema string, resources []string) (*store, error) {
	s, err := openObserver(ctx, dsn, schema, resources)
	if err != nil {
		return nil, err
	}
	if err := s.create(ctx); err != nil {
		s.close()
		return nil, fmt.Errorf("prepare the schema %s: %w", schema, err)
	}
	return s, nil
}

// openObserver is a second connection to the schema of a cell.
func openObserver(ctx context.Context, dsn, schema string, resources []string) (*store, error) {
	conn, err := pgx.Connect(ctx, withSchema(dsn, schema))
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	return &store{conn: conn, schema: schema, resources: resources}, nil
}

func (s *store) create(ctx context.Context) error {
	name := pgx.Identifier{s.schema}.Sanitize()
	for _, sql := range []string{"CREATE SCHEMA " + name, guard.Table, fmt.Sprintf(journalDDL, name)} {
		if _, err := s.conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	first, err := json.Marshal(guard.Document{WriteID: history.InitialWrite, Fields: map[string]int{}})
	if err != nil {
		return err
	}
	for i := range s.resources {
		if _, err := s.conn.Exec(ctx, `INSERT INTO config (id, payload) VALUES ($1, $2)`, i, first); err != nil {
			return err
		}
	}
	return nil
}

// withSchema adds a search_path to a connection string, so that statements can
// be sent exactly as a user would write them.
func withSchema(dsn, schema string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn // pgx says what is wrong with it
	}
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return u.String()
}

// seen reads all rows in one statement: resource to write id.
func (s *store) seen(ctx context.Context) (map[string]string, error) {
	rows, err := s.conn.Query(ctx, `SELECT id, payload->>'write_id' FROM config`)
	if err != nil {
		return nil, err
	}
	seen := map[string]string{}
	var id int
	var write string
	_, err = pgx.ForEachRow(rows, []any{&id, &write}, func() error {
		if id < 0 || id >= len(s.resources) {
			return fmt.Errorf("row %d is nobody's", id)
		}
		seen[s.resources[id]] = write
		return nil
	})
	return seen, err
}

// quiesce returns once no connection whose name begins with prefix is left: no
// statement of a client can arrive any more.
func (s *store) quiesce(ctx context.Context, prefix string) error {
	for {
		var left int
		err := s.conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE starts_with(application_name, $1)`, prefix).Scan(&left)
		if err != nil {
			return fmt.Errorf("ask for the clients that are left: %w", err)
		}
		if left == 0 {
			return nil
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%d connections of clients are still there: %w", left, ctx.Err())
		}
	}
}

// journal reads what the store accepted, in its order.
func (s *store) journal(ctx context.Context) ([]history.JournalEntry, error) {
	rows, err := s.conn.Query(ctx, `SELECT seq, id, coalesce(write_id, ''), coalesce(holder, ''), coalesce(basis, ''), last_fence, backend_pid, at FROM journal ORDER BY seq`)
	if err != nil {
		return nil, err
	}
	entries := []history.JournalEntry{}
	var e history.JournalEntry
	var id int
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&e.Seq, &id, &e.WriteID, &e.Grant, &e.Basis, &e.LastFence, &e.BackendPID, &at}, func() error {
		if id < 0 || id >= len(s.resources) {
			return fmt.Errorf("row %d is nobody's", id)
		}
		e.Resource, e.Time = s.resources[id], at.UTC().Format("2006-01-02T15:04:05.000000Z")
		entries = append(entries, e)
		return nil
	})
	return entries, err
}

// drop removes the schema; its content has been saved.
func (s *store) drop(ctx context.Context) error {
	_, err := s.conn.Exec(ctx, "DROP SCHEMA "+pgx.Identifier{s.schema}.Sanitize()+" CASCADE")
	return err
}

func (s *store) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = s.conn.Close(ctx)
}

// errNoRows says that the observer saw fewer rows than there are.
var errNoRows = errors.New("rows are missing")
