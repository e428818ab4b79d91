package workloads

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Store is the one PostgreSQL connection of a client. It stays open over pauses:
// a pool that replaced it behind our back would hide what happens to old requests.
type Store struct {
	DSN  string
	Name string // application_name, by which the backend is found in pg_stat_activity
	conn *pgx.Conn
}

// Conn is the connection, opened when there is none.
func (s *Store) Conn(ctx context.Context) (*pgx.Conn, error) {
	if s.conn != nil && !s.conn.IsClosed() {
		return s.conn, nil
	}
	cfg, err := pgx.ParseConfig(s.DSN)
	if err != nil {
		return nil, fmt.Errorf("connection string: %w", err)
	}
	cfg.RuntimeParams["application_name"] = s.Name
	if s.conn, err = pgx.ConnectConfig(ctx, cfg); err != nil {
		return nil, err
	}
	return s.conn, nil
}

// Drop closes a connection that cannot be trusted any more.
func (s *Store) Drop() {
	if s.conn != nil {
		// Without a deadline of its own Close would wait for a server that is stopped.
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.conn.Close(ctx)
		s.conn = nil
	}
}

// Close ends the connection in good order.
func (s *Store) Close() {
	if s.conn != nil {
		_ = s.conn.Close(context.Background())
		s.conn = nil
	}
}
