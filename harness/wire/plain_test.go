package wire_test

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
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
	for end := time.Now().Add(patience); newest() <= before; time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatal("the proxy did not connect to the server")
		}
	}
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

func TestForwards(t *testing.T) {
	s := newServer(t)
	p := proxyTo(t, s.Addr().String())
	c := dial(t, p)
	send(t, c, "one")
	reads(t, c, "re:one")
	big := strings.Repeat("x", 1<<20)
	go func() { _, _ = c.Write([]byte(big)) }()
	got, total := make([]byte, 32<<10), 0
	for total < len(big) { // and the marks between the pieces
		n, err := c.Read(got)
		if err != nil {
			t.Fatal(err)
		}
		total += n
	}
	s.heard(t, 1, "one"+big)
	conns := p.Conns()
	if len(conns) != 1 || conns[0].ID() != 1 || conns[0].Name() != "" {
		t.Fatalf("the connections are %v", conns)
	}
	if st := conns[0].Stats(); st.Requests != int64(3+len(big)) || st.Replies < st.Requests || st.HeldRequests != 0 || st.ClientGone {
		t.Errorf("counted %+v", st)
	}
	if err := c.CloseWrite(); err != nil { // half a close passes as it is
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c); err != nil {
		t.Errorf("after the end: %v", err)
	}
	if err := <-s.ends; err != nil {
		t.Errorf("the server saw %v", err)
	}
}

func TestListenRefuses(t *testing.T) {
	if p, err := wire.Listen("nonsense"); err == nil {
		p.Close()
		t.Error("a target without a port was taken")
	}
}

// A target that nobody listens on shows as a reset.
func TestTargetRefuses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	c, err := net.Dial("tcp", proxyTo(t, l.Addr().String()).Addr())
	if err == nil {
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(patience))
		_, err = c.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client saw %v, want a reset", err)
	}
}

func TestHoldRequests(t *testing.T) {
	s := newServer(t)
	p := proxyTo(t, s.Addr().String())
	c := dial(t, p)
	send(t, c, "a")
	reads(t, c, "re:a")
	p.HoldRequests()
	send(t, c, "b")
	conns := awaitHeld(t, p, 1)
	send(t, c, "c")
	for conns[0].Stats().HeldRequests < 2 {
		awaitHeld(t, p, 1)
	}
	s.silent(t, 1, "a")
	if st := conns[0].Stats(); st.Requests != 1 || st.HeldRequests != 2 {
		t.Errorf("counted %+v", st)
	}
	p.Release()
	reads(t, c, "re:bc") // in one piece, in order
	if err := p.AwaitForwarded(ctxOf(t), conns...); err != nil {
		t.Fatal(err)
	}
	send(t, c, "d") // the rule is forgotten
	reads(t, c, "re:d")
	if held := p.Held(); len(held) > 0 {
		t.Errorf("held still: %v", held)
	}
}

func TestHoldSome(t *testing.T) {
	s := newServer(t)
	p := proxyTo(t, s.Addr().String())
	one, two := dial(t, p), dial(t, p)
	send(t, one, "a")
	reads(t, one, "re:a")
	send(t, two, "b")
	reads(t, two, "re:b")
	p.HoldRequests(wire.Containing("KEY"))
	send(t, one, "x") // nothing of the kind
	reads(t, one, "re:x")
	send(t, one, "KEY")
	held := awaitHeld(t, p, 1)
	send(t, two, "y")
	reads(t, two, "re:y")
	send(t, one, "z") // behind what is held everything is held
	send(t, two, "KEY")
	awaitHeld(t, p, 2)

	p.Release(wire.Only(held...))
	reads(t, one, "re:KEY") // with or without the z
	send(t, one, "KEY!")    // it is out of the rule
	s.heard(t, 1, "axKEYzKEY!")
	s.silent(t, 2, "by")
	if left := p.Held(); len(left) != 1 || left[0] == held[0] {
		t.Errorf("held are %v", left)
	}
	p.HoldRequests(wire.Only(held...)) // a new rule is for everybody again
	send(t, one, "q")
	awaitHeld(t, p, 2)
	p.Heal()
	s.heard(t, 1, "axKEYzKEY!q")
	s.heard(t, 2, "byKEY")
}

func TestAwaitHeldGivesUp(t *testing.T) {
	s := newServer(t)
	p := proxyTo(t, s.Addr().String())
	p.HoldRequests()
	c := dial(t, p)
	send(t, c, "a")
	awaitHeld(t, p, 1)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	conns, err := p.AwaitHeld(ctx, 2)
	if !errors.Is(err, context.DeadlineExceeded) || len(conns) != 1 || !strings.Contains(err.Error(), "held on 1 connections, not 2") {
		t.Errorf("%d connections, %v", len(conns), err)
	}
	if err := p.AwaitForwarded(ctx, conns...); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("what is held was called forwarded: %v", err)
	}
}

// The client gives up, its request arrives later, whether it closed its side or
// reset it; then the server's side ends in good order.
func TestGivenUpRequestArrives(t *testing.T) {
	for name, giveUp := range map[string]func(*net.TCPConn) error{
		"closed": (*net.TCPConn).Close,
		"reset": func(c *net.TCPConn) error {
			_ = c.SetLinger(0)
			return c.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			p := proxyTo(t, s.Addr().String())
			p.HoldRequests()
			c := dial(t, p)
			send(t, c, "late")
			held := awaitHeld(t, p, 1)[0]
			if err := giveUp(c); err != nil {
				t.Fatal(err)
			}
			for !held.Stats().ClientGone {
				time.Sleep(time.Millisecond)
			}
			s.silent(t, 1, "")
			p.Release()
			s.heard(t, 1, "late")
			if err := <-s.ends; err != nil {
				t.Errorf("the server saw %v", err)
			}
			for len(p.Conns()) > 0 { // nothing of it is left
				time.Sleep(time.Millisecond)
			}
		})
	}
}

func TestHoldReplies(t *testing.T) {
	s := newServer(t)
	p := proxyTo(t, s.Addr().String())
	p.HoldReplies()
	c := dial(t, p)
	send(t, c, "a")
	s.heard(t, 1, "a")
	conns, err := p.AwaitHeldReplies(ctxOf(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	if st := conns[0].Stats(); st.HeldReplies != 4 || st.Replies != 0 || st.HeldRequests != 0 {
		t.Errorf("counted %+v", st)
	}
	p.Release()
	reads(t, c, "re:a")
}

func TestCutReplies(t *testing.T) {
	s := newServer(t)
	p := proxyTo(t, s.Addr().String())
	c, other := dial(t, p), dial(t, p)
	send(t, c, "a")
	reads(t, c, "re:a")
	p.CutReplies(wire.Containing("re:b"))
	conn := p.Conns()[0]
	send(t, c, "x")
	reads(t, c, "re:x")
	send(t, c, "b")
	isReset(t, c)
	s.heard(t, 1, "axb")
	if st := conn.Stats(); !st.ReplyCut || st.Dropped != 4 || st.Replies != 8 || st.Requests != 3 || !st.ClientGone {
		t.Errorf("counted %+v", st)
	}
	if err := <-s.ends; err != nil { // it noticed nothing but the end
		t.Errorf("the server saw %v", err)
	}
	send(t, other, "a")
	reads(t, other, "re:a")
	send(t, other, "b") // the rule is for all that match
	isReset(t, other)
	p.Heal()
	third := dial(t, p)
	send(t, third, "b")
	reads(t, third, "re:b")
}

// Hold the request, be sure of it, and lose its reply: the way to cut the reply
// of one request.
func TestCutTheReplyOfAHeldRequest(t *testing.T) {
	s := newServer(t)
	p := proxyTo(t, s.Addr().String())
	p.HoldRequests()
	c := dial(t, p)
	send(t, c, "a")
	held := awaitHeld(t, p, 1)
	p.CutReplies(wire.Only(held...))
	p.Release(wire.Only(held...))
	isReset(t, c)
	s.heard(t, 1, "a")
	if st := held[0].Stats(); !st.ReplyCut || st.Requests != 1 {
		t.Errorf("counted %+v", st)
	}
}

func TestCutHeldReplies(t *testing.T) {
	s := newServer(t)
	p := proxyTo(t, s.Addr().String())
	p.HoldReplies()
	c := dial(t, p)
	send(t, c, "a")
	conns, err := p.AwaitHeldReplies(ctxOf(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	p.CutReplies()
	isReset(t, c)
	if st := conns[0].Stats(); !st.ReplyCut || st.Dropped != 4 {
		t.Errorf("counted %+v", st)
	}
}

// A client whose reply was cut has given up; what it had sent behind that is
// forwarded all the same.
func TestCutReplyKeepsHeldRequests(t *testing.T) {
	s := newServer(t)
	p := proxyTo(t, s.Addr().String())
	p.HoldReplies()
	c := dial(t, p)
	send(t, c, "a")
	if _, err := p.AwaitHeldReplies(ctxOf(t), 1); err != nil {
		t.Fatal(err)
	}
	p.HoldRequests()
	send(t, c, "b")
	awaitHeld(t, p, 1)
	p.CutReplies()
	isReset(t, c)
	p.Release()
	s.heard(t, 1, "ab")
}

func TestCutNow(t *testing.T) {
	s := newServer(t)
	p := proxyTo(t, s.Addr().String())
	one, two := dial(t, p), dial(t, p)
	for i, c := range []net.Conn{one, two} {
		send(t, c, "ab"[i:i+1])
		reads(t, c, "re:"+"ab"[i:i+1])
	}
	p.HoldRequests(wire.Containing("x"))
	send(t, one, "x")
	p.CutNow(wire.Only(awaitHeld(t, p, 1)...))
	isReset(t, one)
	if err := <-s.ends; !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the server saw %v, want a reset", err)
	}
	s.silent(t, 1, "a") // what was held is lost
	send(t, two, "y")
	reads(t, two, "re:y")
}

// A server that dies shows to the client as it would without a proxy.
func TestServerResets(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := proxyTo(t, l.Addr().String())
	c := dial(t, p)
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = s.(*net.TCPConn).SetLinger(0)
	s.Close()
	isReset(t, c)
}

// A server that takes nothing, because it is stopped say, must not keep anybody
// from anything.
func TestServerDoesNotRead(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := proxyTo(t, l.Addr().String())
	c := dial(t, p)
	if err := c.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	for err == nil { // until all buffers are full
		_, err = c.Write(make([]byte, 1<<20))
	}
	p.HoldRequests()
	p.Release()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := p.AwaitForwarded(ctx, p.Conns()...); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a write that hangs was called forwarded: %v", err)
	}
	p.CutNow()
	isReset(t, c)
}

// Everything at once, for the race detector; and nothing is left at the end.
func TestManyAtOnce(t *testing.T) {
	before := runtime.NumGoroutine()
	s := newServer(t)
	p, err := wire.Listen(s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var clients sync.WaitGroup
	for range 16 {
		clients.Go(func() {
			for range 50 {
				c, err := net.Dial("tcp", p.Addr())
				if err != nil {
					return
				}
				_ = c.SetDeadline(time.Now().Add(patience))
				for range 5 {
					if _, err := c.Write([]byte("hello")); err != nil {
						break
					}
					if _, err := c.Read(make([]byte, 8)); err != nil {
						break
					}
				}
				c.Close()
			}
		})
	}
	done := make(chan struct{})
	go func() { clients.Wait(); close(done) }()
	for i := 0; ; i++ {
		switch i % 7 {
		case 0:
			p.HoldRequests(func(c *wire.Conn, _ []byte) bool { return c.ID()%3 == 0 })
		case 1:
			p.HoldReplies(func(c *wire.Conn, _ []byte) bool { return c.ID()%5 == 0 })
		case 2:
			p.CutReplies(func(c *wire.Conn, _ []byte) bool { return c.ID()%11 == 0 })
		case 3:
			p.Release(func(c *wire.Conn, _ []byte) bool { return c.ID()%2 == 0 })
		case 4:
			p.CutNow(func(c *wire.Conn, _ []byte) bool { return c.ID()%13 == 0 })
		case 5:
			for _, c := range p.Conns() {
				c.Stats()
			}
		default:
			p.Heal()
		}
		select {
		case <-done:
		case <-time.After(time.Millisecond):
			continue
		}
		break
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("the second time: %v", err)
	}
	s.Close()
	s.busy.Wait()
	end := time.Now().Add(patience)
	for runtime.NumGoroutine() > before && time.Now().Before(end) {
		time.Sleep(time.Millisecond)
	}
	if now := runtime.NumGoroutine(); now > before {
		t.Errorf("%d goroutines are left of %d", now-before, now)
	}
}

// Whatever is held or hangs, Close ends it.
func TestCloseWithEverythingHeld(t *testing.T) {
	s := newServer(t)
	p, err := wire.Listen(s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	p.HoldRequests(wire.Containing("x"))
	p.HoldReplies()
	one, two := dial(t, p), dial(t, p)
	send(t, one, "x")
	send(t, two, "a")
	awaitHeld(t, p, 1)
	if _, err := p.AwaitHeldReplies(ctxOf(t), 1); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	isReset(t, one)
	isReset(t, two)
}
