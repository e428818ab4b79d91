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

// redisLaunch runs a master without persistence: a lock server as it is
// commonly set up, and what the strategies under test assume unless they say
// otherwise. The password is in a file because arguments are public.
func redisLaunch(s *Server, dir string) launch {
	conf := []string{
		"bind 127.0.0.1",
		"port " + itoa(s.port.number),
		"requirepass " + s.Password,
		`save ""`,
		"appendonly no",
		"daemonize no",
		`logfile ""`,
		"dir " + dir,
	}
	return launch{
		program: "redis-server",
		args:    []string{path.Join(dir, "redis.conf")},
		files:   map[string]string{"redis.conf": strings.Join(conf, "\n") + "\n"},
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

// probeRedis succeeds if a write does.
func probeRedis(ctx context.Context, s *Server) error {
	if err := dial(ctx, s.Addr); err != nil {
		return err
	}
	c := redisClient(s)
	defer c.Close()
	if err := c.Set(ctx, "torture:ready", s.Name, 0).Err(); err != nil {
		return err
	}
	return c.Del(ctx, "torture:ready").Err()
}

func redisVersion(ctx context.Context, s *Server) (string, error) {
	c := redisClient(s)
	defer c.Close()
	info, err := c.Info(ctx, "server").Result()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", s.Name, err)
	}
	found := map[string]string{}
	for line := range strings.Lines(info) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		found[key] = value
	}
	if v := found["valkey_version"]; v != "" { // it also claims to be some Redis
		return "valkey " + v, nil
	}
	if found["redis_version"] == "" {
		return "", errors.New("ask " + s.Name + " for its version: it does not say")
	}
	return found["redis_version"], nil
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
