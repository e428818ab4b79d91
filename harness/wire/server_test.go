package wire_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/wire"
)

const patience = 20 * time.Second

func ctxOf(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// server is a TCP server that keeps all it is sent, answers each piece with
// "re:" and the piece, and tells how connections ended.
type server struct {
	net.Listener
	mu   sync.Mutex
	got  map[int]string
	n    int
	ends chan error // of each connection, nil for an orderly one
	busy sync.WaitGroup
	news chan struct{}
}

func newServer(t *testing.T) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Listener: l, got: map[int]string{}, ends: make(chan error, 100), news: make(chan struct{}, 1)}
	s.busy.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.n++
			n := s.n
			s.mu.Unlock()
			s.busy.Go(func() { s.serve(n, c) })
		}
	})
	t.Cleanup(func() { l.Close(); s.busy.Wait() })
	return s
}

func (s *server) serve(n int, c net.Conn) {
	defer c.Close()
	buf := make([]byte, 64<<10)
	for {
		m, err := c.Read(buf)
		if m > 0 {
			s.mu.Lock()
			s.got[n] += string(buf[:m])
			s.mu.Unlock()
			select {
			case s.news <- struct{}{}:
			default: // nobody waits
			}
			_, _ = c.Write(append([]byte("re:"), buf[:m]...))
		}
		if errors.Is(err, io.EOF) {
			err = nil
		} else if err == nil {
			continue
		}
		select {
		case s.ends <- err:
		default:
		}
		return
	}
}

// heard waits until connection n has brought this and nothing else.
func (s *server) heard(t *testing.T, n int, want string) {
	t.Helper()
	deadline := time.After(patience)
	for {
		s.mu.Lock()
		got := s.got[n]
		s.mu.Unlock()
		if got == want {
			return
		}
		select {
		case <-s.news:
		case <-deadline:
			t.Fatalf("the server heard %q on connection %d, want %q", got, n, want)
		}
	}
}

func (s *server) silent(t *testing.T, n int, want string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.got[n] != want {
		t.Fatalf("the server heard %q on connection %d, want %q and no more", s.got[n], n, want)
	}
}

func proxyTo(t *testing.T, target string) *wire.Proxy {
	t.Helper()
	p, err := wire.Listen(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// dial returns once the proxy has connected to the server, which thereby counts
// connections in the same order.
func dial(t *testing.T, p *wire.Proxy) *net.TCPConn {
	t.Helper()
	newest := func() (id int) {
		for _, c := range p.Conns() {
			id = c.ID()
		}
		return id
	}
	before := newest()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	until(t, "the proxy has connected to the server", func() bool { return newest() > before })
	return c.(*net.TCPConn)
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func reads(t *testing.T, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("read %q, %v; want %q", got, err, want)
	}
}

// isReset asserts that the client sees a reset, and no byte before it.
func isReset(t *testing.T, c net.Conn) {
	t.Helper()
	n, err := c.Read(make([]byte, 100))
	if n > 0 || !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("read %d bytes and %v, want a reset", n, err)
	}
}

func awaitHeld(t *testing.T, p *wire.Proxy, n int, filters ...wire.Filter) []*wire.Conn {
	t.Helper()
	conns, err := p.AwaitHeld(ctxOf(t), n, filters...)
	if err != nil {
		t.Fatal(err)
	}
	return conns
}

// plain is a server and a proxy in front of it.
func plain(t *testing.T) (*server, *wire.Proxy) {
	t.Helper()
	s := newServer(t)
	return s, proxyTo(t, s.Addr().String())
}

// heldReply is a client whose request "a" was executed, and its reply held.
func heldReply(t *testing.T, s *server, p *wire.Proxy) (net.Conn, *wire.Conn) {
	t.Helper()
	p.HoldReplies()
	c := dial(t, p)
	send(t, c, "a")
	s.heard(t, 1, "a")
	conns, err := p.AwaitHeldReplies(ctxOf(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	return c, conns[0]
}

// until probes until cond holds.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	ctx := ctxOf(t)
	tick := time.NewTicker(100 * time.Microsecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain for: %s", what)
		}
	}
}

// ended is how the next connection to end has ended for the server.
func (s *server) ended(t *testing.T) error {
	t.Helper()
	select {
	case err := <-s.ends:
		return err
	case <-time.After(patience):
		t.Fatal("no connection has ended")
		return nil
	}
}
