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

func TestForwards(t *testing.T) {
	s, p := plain(t)
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
	if err := s.ended(t); err != nil {
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
