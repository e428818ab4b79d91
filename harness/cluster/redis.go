package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// redisLaunch runs a Redis. Without persistence, unless it is to be durable: a
// lock server as it is commonly set up, and what the strategies under test
// assume unless they say otherwise. Passwords are in a file because arguments
// are public.
func redisLaunch(s *Server, dir string, durable bool) launch {
	conf := []string{
		"bind 127.0.0.1",
		"port " + itoa(s.port.number),
		"requirepass " + s.Password,
		`save ""`,
		"daemonize no",
		`logfile ""`,
		"dir " + dir,
		"repl-diskless-sync-delay 0", // a replica need not wait for others
	}
	if durable {
		conf = append(conf, "appendonly yes", "appendfsync always")
	} else {
		conf = append(conf, "appendonly no")
	}
	if s.master != nil {
		conf = append(conf, "replicaof 127.0.0.1 "+itoa(s.master.port.number), "masterauth "+s.master.Password)
	}
	return launch{
		program: "redis-server",
		args:    []string{path.Join(dir, "redis.conf")},
		files:   map[string]string{"redis.conf": strings.Join(conf, "\n") + "\n"},
		keeps:   durable,
	}
}

func redisClient(s *Server) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:                     s.Addr,
		Password:                 s.Password,
		MaxRetries:               -1,
		ContextTimeoutEnabled:    true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// probeRedis succeeds if a write does, and with a replica, which takes none, if
// its link to its master is up.
func probeRedis(ctx context.Context, s *Server) error {
	if err := dial(ctx, s.Addr); err != nil {
		return err
	}
	c := redisClient(s)
	defer c.Close()
	if s.master != nil {
		up, err := linkIsUp(ctx, c)
		if err == nil && !up {
			err = errors.New("its link to its master is down")
		}
		if !errors.Is(err, errNoReplica) { // a promoted one takes writes
			return err
		}
	}
	if err := c.Set(ctx, "torture:ready", s.Name, 0).Err(); err != nil {
		return err
	}
	return c.Del(ctx, "torture:ready").Err()
}

func redisVersion(ctx context.Context, s *Server) (string, error) {
	c := redisClient(s)
	defer c.Close()
	found, err := redisInfo(ctx, c, "server")
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", s.Name, err)
	}
	if v := found["valkey_version"]; v != "" { // it also claims to be some Redis
		return "valkey " + v, nil
	}
	if found["redis_version"] == "" {
		return "", errors.New("ask " + s.Name + " for its version: it does not say")
	}
	return found["redis_version"], nil
}

// redisInfo is a section of INFO, by key.
func redisInfo(ctx context.Context, c *redis.Client, section string) (map[string]string, error) {
	info, err := c.Info(ctx, section).Result()
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for line := range strings.Lines(info) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		found[key] = value
	}
	return found, nil
}

// dial tells cheaply whether anybody listens, before a client library is asked
// that would complain on the terminal if nobody did.
func dial(ctx context.Context, addr string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return conn.Close()
}
