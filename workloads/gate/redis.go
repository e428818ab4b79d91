package gate

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// Redis opens the gate in the connections of one go-redis client, which must
// not retry. A command says by its context whose it is, and its connection is
// known by the key that it writes; so no two clients may ask for one key at once
// through it.
type Redis struct {
	wanted atomic.Int32 // how many are in expected, so that looking costs nothing

	mu       sync.Mutex
	expected []*expected
}

// expected is a command whose connection is not known yet.
type expected struct {
	attempt *attempt
	ctx     context.Context
	mark    []byte
}

// dialer is how go-redis opens connections.
type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// NewRedis makes a client whose connections pass a gate.
func NewRedis(o *redis.Options) *redis.Client {
	g := &Redis{}
	options := *o
	open := options.Dialer
	if open == nil {
		open = redis.NewDialer(&options)
	}
	options.Dialer = g.dialer(open)
	client := redis.NewClient(&options)
	client.AddHook(g)
	return client
}

func (g *Redis) dialer(open dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := open(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &conn{Conn: c, gate: g}, nil
	}
}

// DialHook changes nothing; it is there for redis.Hook.
func (g *Redis) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook changes nothing; it is there for redis.Hook.
func (g *Redis) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook watches for the connection of a command whose attempt is wanted.
func (g *Redis) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		a := from(ctx)
		if a == nil {
			return next(ctx, cmd)
		}
		e := &expected{a, ctx, mark(cmd)}
		g.mu.Lock()
		g.expected = append(g.expected, e)
		g.mu.Unlock()
		g.wanted.Add(1)
		defer func() {
			if g.take(func(other *expected) bool { return other == e }) != nil { // it has never been written
				a.settled()
			}
		}()
		return next(without(ctx), cmd)
	}
}

// take removes and returns the first that matches, nil if none does.
func (g *Redis) take(match func(*expected) bool) *expected {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, e := range g.expected {
		if match(e) {
			g.expected = append(g.expected[:i:i], g.expected[i+1:]...)
			g.wanted.Add(-1)
			return e
		}
	}
	return nil
}

// mark is the key of a command as it stands in its bytes (RESP bulk string).
func mark(cmd redis.Cmder) []byte {
	at := 1
	if strings.HasPrefix(strings.ToLower(cmd.Name()), "eval") {
		at = 3 // behind the script and the number of keys
	}
	if args := cmd.Args(); at < len(args) {
		k := fmt.Sprint(args[at])
		return fmt.Appendf(nil, "$%d\r\n%s\r\n", len(k), k)
	}
	return nil
}

// conn is one connection.
type conn struct {
	net.Conn
	gate   *Redis
	before atomic.Pointer[expected] // what its next read has to pass
}

func (c *conn) Write(b []byte) (int, error) {
	if c.gate.wanted.Load() == 0 {
		return c.Conn.Write(b)
	}
	e := c.gate.take(func(e *expected) bool { return len(e.mark) > 0 && bytes.Contains(b, e.mark) })
	n, err := c.Conn.Write(b)
	if e != nil {
		if err == nil {
			c.before.Store(e)
		}
		e.attempt.settled()
	}
	return n, err
}

func (c *conn) Read(b []byte) (int, error) {
	if c.before.Load() != nil {
		if e := c.before.Swap(nil); e != nil {
			if err := e.attempt.pass(e.ctx); err != nil {
				return 0, err
			}
		}
	}
	return c.Conn.Read(b)
}

// SyscallConn lets go-redis look whether the server has closed the connection.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	s, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("a %T has no file descriptor", c.Conn)
	}
	return s.SyscallConn()
}
