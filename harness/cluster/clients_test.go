package cluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// store writes and reads one key as a client of a server would.
type store interface {
	put(ctx context.Context, key, value string) error
	get(ctx context.Context, key string) (string, error)
}

func storeOf(s *Server) store {
	switch s.Kind {
	case Redis:
		return redisStore{s}
	case Etcd:
		return etcdStore{s}
	default:
		return postgresStore{s}
	}
}

type redisStore struct{ s *Server }

func (r redisStore) put(ctx context.Context, key, value string) error {
	c := redisClient(r.s)
	defer c.Close()
	return c.Set(ctx, key, value, 0).Err()
}

func (r redisStore) get(ctx context.Context, key string) (string, error) {
	c := redisClient(r.s)
	defer c.Close()
	return c.Get(ctx, key).Result()
}

type etcdStore struct{ s *Server }

func (e etcdStore) put(ctx context.Context, key, value string) error {
	c, err := etcdClient(ctx, e.s.Addr)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Put(ctx, key, value)
	return err
}

func (e etcdStore) get(ctx context.Context, key string) (string, error) {
	c, err := etcdClient(ctx, e.s.Addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	// What this member has by itself, which needs no quorum.
	found, err := c.Get(ctx, key, clientv3.WithSerializable())
	if err != nil || len(found.Kvs) == 0 {
		return "", fmt.Errorf("no %s: %w", key, err)
	}
	return string(found.Kvs[0].Value), nil
}

type postgresStore struct{ s *Server }

func (p postgresStore) put(ctx context.Context, key, value string) error {
	return p.with(ctx, func(c *pgx.Conn) error {
		if _, err := c.Exec(ctx, "CREATE TABLE IF NOT EXISTS kv (k text PRIMARY KEY, v text)"); err != nil {
			return err
		}
		_, err := c.Exec(ctx, "INSERT INTO kv VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = $2", key, value)
		return err
	})
}

func (p postgresStore) get(ctx context.Context, key string) (value string, err error) {
	err = p.with(ctx, func(c *pgx.Conn) error {
		return c.QueryRow(ctx, "SELECT v FROM kv WHERE k = $1", key).Scan(&value)
	})
	return value, err
}

func (p postgresStore) with(ctx context.Context, do func(*pgx.Conn) error) error {
	c, err := pgx.Connect(ctx, p.s.dsn(database))
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	return do(c)
}

// mustPut writes within a time that is long for a living server.
func mustPut(t *testing.T, s *Server, key, value string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := storeOf(s).put(ctx, key, value); err != nil {
		t.Fatalf("write to %s: %v", s.Name, err)
	}
}

// mustNotPut asserts that a write gets no answer.
func mustNotPut(t *testing.T, s *Server, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := storeOf(s).put(ctx, key, "x"); err == nil {
		t.Fatalf("%s answers a write", s.Name)
	}
}

func mustGet(t *testing.T, s *Server, key, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if got, err := storeOf(s).get(ctx, key); err != nil || got != want {
		t.Fatalf("%s has %q for %s, not %q: %v", s.Name, got, key, want, err)
	}
}
