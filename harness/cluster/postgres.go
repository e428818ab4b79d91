package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// postgresLaunch runs a PostgreSQL with its default durability (fsync,
// synchronous_commit, full_page_writes) and little memory. What could end or
// slow a session by itself is off: it would look like a fault. The settings of
// spec come last, so they win.
func postgresLaunch(s *Server, dir string, spec Spec) launch {
	data := path.Join(dir, "data")
	settings := []string{
		"listen_addresses=127.0.0.1",
		"port=" + itoa(s.port.number),
		"unix_socket_directories=",
		"shared_buffers=64MB",
		"dynamic_shared_memory_type=mmap", // in the data folder, which is removed; not in /dev/shm
		"wal_level=minimal",
		"max_wal_senders=0",
		"recovery_init_sync_method=syncfs", // after a kill one call, not one per file of an initdb that synced none
		"jit=off",
		"idle_session_timeout=0",
		"tcp_keepalives_idle=0",
		"timezone=UTC",
		"log_timezone=UTC",
	}
	if spec.MaxConnections > 0 {
		settings = append(settings, "max_connections="+itoa(spec.MaxConnections))
	}
	for _, name := range slices.Sorted(maps.Keys(spec.PostgresSettings)) {
		settings = append(settings, name+"="+spec.PostgresSettings[name])
	}
	args := []string{"-D", data}
	for _, one := range settings {
		args = append(args, "-c", one)
	}
	return launch{
		program: "postgres",
		args:    args,
		keeps:   true,
		files:   map[string]string{"password": s.Password + "\n"},
		prepare: &launch{program: "initdb", shares: true, args: []string{
			"-D", data,
			"--username=" + superuser,
			"--pwfile=" + path.Join(dir, "password"),
			"--auth=scram-sha-256",
			"--encoding=UTF8",
			"--locale=C",
			"--no-sync", // an empty database is not worth it
		}},
	}
}

// fixedSettings are those that Spec.PostgresSettings may not change.
var fixedSettings = []string{"listen_addresses", "port", "unix_socket_directories"}

// probePostgres succeeds if a write does. The first time it makes the database.
func probePostgres(ctx context.Context, s *Server) error {
	if err := dial(ctx, s.Addr); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, s.dsn(database))
	if noDatabase(err) {
		if err := createDatabase(ctx, s); err != nil {
			return err
		}
		conn, err = pgx.Connect(ctx, s.dsn(database))
	}
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, "CREATE TEMP TABLE torture_ready (name text); INSERT INTO torture_ready VALUES ('ready')")
	return err
}

func noDatabase(err error) bool {
	const invalidCatalogName = "3D000"
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.Code == invalidCatalogName
}

func createDatabase(ctx context.Context, s *Server) error {
	conn, err := pgx.Connect(ctx, s.dsn("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, "CREATE DATABASE "+database)
	return err
}

func postgresVersion(ctx context.Context, s *Server) (string, error) {
	conn, err := pgx.Connect(ctx, s.dsn(database))
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", s.Name, err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var version string
	if err := conn.QueryRow(ctx, "SHOW server_version").Scan(&version); err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", s.Name, err)
	}
	number, _, _ := strings.Cut(version, " ") // the rest is the packager's
	return number, nil
}
