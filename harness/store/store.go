// Package store is the database of a cell as the harness sees it: the rows that
// clients fight over, the journal of what was accepted, and an observer.
package store

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

// Store is the harness' own connection to the PostgreSQL of a cell.
type Store struct {
	conn      *pgx.Conn
	dsn       string
	schema    string
	resources []string
	etcd      *etcdRows // nil if the rows are in PostgreSQL
}

// The journal is kept by the store itself, so its order is the order of
// acceptance. Which trigger calls it depends on the tables of the guard.
const journalDDL = `
CREATE TABLE journal (
	seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id bigint NOT NULL,
	write_id text, holder text, basis text, last_fence bigint, backend_pid int, at timestamptz);
CREATE FUNCTION journal_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO %[1]s.journal (id, write_id, holder, basis, last_fence, backend_pid, at)
	VALUES (NEW.id, NEW.payload->>'write_id', NEW.payload->>'grant', NEW.payload->>'basis', NEW.last_fence, pg_backend_pid(), clock_timestamp());
	RETURN NULL;
END $$`

// Rows says which rows a cell needs, and where.
type Rows struct {
	Postgres  string   // connection string
	Etcd      []string // endpoints, if the guard has its documents there; those in PostgreSQL are nobody's then
	Schema    string   // unique to the cell
	Resources []string
	Tables    guard.Tables
}

// Open makes a schema of its own for a cell, with the tables of its guard and
// one row per resource.
func Open(ctx context.Context, rows Rows) (*Store, error) {
	s, err := openSecond(ctx, rows.Postgres, rows.Schema, rows.Resources)
	if err != nil {
		return nil, err
	}
	err = s.create(ctx, rows.Tables)
	if err == nil && len(rows.Etcd) > 0 {
		s.etcd, err = newEtcdRows(ctx, rows)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("prepare the schema %s: %w", rows.Schema, err)
	}
	return s, nil
}

// openSecond is a connection to the schema of a cell.
func openSecond(ctx context.Context, dsn, schema string, resources []string) (*Store, error) {
	conn, err := pgx.Connect(ctx, WithSchema(dsn, schema))
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	return &Store{conn: conn, dsn: dsn, schema: schema, resources: resources}, nil
}

func (s *Store) create(ctx context.Context, tables guard.Tables) error {
	name := pgx.Identifier{s.schema}.Sanitize()
	for _, sql := range []string{"CREATE SCHEMA " + name, tables.Create, fmt.Sprintf(journalDDL, name)} {
		if _, err := s.conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	first, err := json.Marshal(guard.Document{WriteID: history.InitialWrite, Fields: map[string]int{}})
	if err != nil {
		return err
	}
	for i := range s.resources {
		for range tables.Copies {
			if _, err := s.conn.Exec(ctx, tables.Row, i, first); err != nil {
				return err
			}
		}
	}
	_, err = s.conn.Exec(ctx, tables.Journal) // behind the fresh rows, which are no writes
	return err
}

// WithSchema adds a search_path to a connection string, so that statements can
// be sent exactly as a user would write them.
func WithSchema(dsn, schema string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn // pgx says what is wrong with it
	}
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return u.String()
}

// Exec runs statements in the schema of the cell, on a connection that is made
// anew if the server has ended the last one.
func (s *Store) Exec(ctx context.Context, sql string, args ...any) error {
	if err := s.reconnect(ctx); err != nil {
		return err
	}
	_, err := s.conn.Exec(ctx, sql, args...)
	return err
}

// QueryRow asks for one row, as Exec does.
func (s *Store) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if err := s.reconnect(ctx); err != nil {
		return noRow{err}
	}
	return s.conn.QueryRow(ctx, sql, args...)
}

type noRow struct{ err error }

func (r noRow) Scan(...any) error { return r.err }

func (s *Store) reconnect(ctx context.Context) error {
	if !s.conn.IsClosed() {
		return nil
	}
	conn, err := pgx.ConnectConfig(ctx, s.conn.Config())
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL again: %w", err)
	}
	s.conn = conn
	return nil
}

// seen reads all rows in one statement: resource to write id.
func (s *Store) seen(ctx context.Context) (map[string]string, error) {
	if s.etcd != nil {
		return s.etcd.seen(ctx)
	}
	if err := s.reconnect(ctx); err != nil {
		return nil, err
	}
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

// Quiesce returns once no connection whose name begins with prefix is left: no
// statement of a client can arrive any more.
func (s *Store) Quiesce(ctx context.Context, prefix string) error {
	for {
		var left int
		err := s.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE starts_with(application_name, $1)`, prefix).Scan(&left)
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

// Journal reads what the store accepted, in its order.
func (s *Store) Journal(ctx context.Context) ([]history.JournalEntry, error) {
	if s.etcd != nil {
		return s.etcd.journal(ctx)
	}
	if err := s.reconnect(ctx); err != nil {
		return nil, err
	}
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

// Drop removes the schema; its content has been saved.
func (s *Store) Drop(ctx context.Context) error {
	if s.etcd != nil {
		if err := s.etcd.drop(ctx); err != nil {
			return fmt.Errorf("remove the documents from etcd: %w", err)
		}
	}
	return s.Exec(ctx, "DROP SCHEMA "+pgx.Identifier{s.schema}.Sanitize()+" CASCADE")
}

// Close ends the connections.
func (s *Store) Close() {
	if s.etcd != nil {
		s.etcd.close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = s.conn.Close(ctx)
}

// errNoRows says that the observer saw fewer rows than there are.
var errNoRows = errors.New("rows are missing")
