// Package wire is a TCP proxy between clients and one server that does to their
// bytes what a network can do: hold the request, hold or cut the reply, reset
// the connection. Nothing is changed, reordered or invented, and everything
// that it held and forwarded is counted, as evidence.
package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
)

// Proxy forwards connections to one target. A target that refuses shows as a
// connection that is reset.
type Proxy struct {
	target   string
	listener net.Listener
	ctx      context.Context // ends with Close
	stop     context.CancelFunc
	running  sync.WaitGroup

	mu      sync.Mutex
	conns   []*Conn // those of which a side is open still
	rules   []rule
	seq     int           // of the last rule or release
	nextID  int           //
	changed chan struct{} // closed and replaced when something that can be awaited has changed
	closed  bool
}

// Listen starts a proxy on a free port of 127.0.0.1 in front of target, a
// host:port.
func Listen(target string) (*Proxy, error) {
	if _, _, err := net.SplitHostPort(target); err != nil {
		return nil, fmt.Errorf("proxy to %q: %w; want host:port", target, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy to %s: %w", target, err)
	}
	p := &Proxy{target: target, listener: l, changed: make(chan struct{})}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.running.Go(p.accept)
	return p, nil
}

// Addr is where clients connect to, 127.0.0.1:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Target is where their connections go to.
func (p *Proxy) Target() string { return p.target }

// Close resets all connections, what they held is lost, and returns once
// nothing of the proxy is left running.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	open := slices.Clone(p.conns)
	p.notify()
	p.mu.Unlock()
	p.stop()
	err := p.listener.Close()
	for _, c := range open {
		c.reset()
	}
	p.running.Wait()
	if errors.Is(err, net.ErrClosed) { // a second Close
		return nil
	}
	return err
}

// accept takes connections until the listener is closed.
func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue // that one connection is gone already
		}
		p.running.Go(func() { p.serve(client.(*net.TCPConn)) })
	}
}

// serve forwards one connection until both of its directions have ended.
func (p *Proxy) serve(client *net.TCPConn) {
	var dialer net.Dialer
	server, err := dialer.DialContext(p.ctx, "tcp", p.target)
	if err != nil {
		abort(client)
		return
	}
	c := newConn(p, client, server.(*net.TCPConn))
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		c.reset()
		return
	}
	p.nextID++
	c.id = p.nextID
	p.conns = append(p.conns, c)
	p.mu.Unlock()

	var both sync.WaitGroup
	both.Go(c.requests.run)
	both.Go(c.replies.run)
	both.Wait()
	_ = client.Close()
	_ = server.Close()
	p.mu.Lock()
	p.conns = slices.DeleteFunc(p.conns, func(other *Conn) bool { return other == c })
	p.notify()
	p.mu.Unlock()
}

// Conns lists the connections of which a side is open still, oldest first.
func (p *Proxy) Conns(filters ...Filter) []*Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.matching(filters)
}

// matching chooses among the open connections. The caller holds mu.
func (p *Proxy) matching(filters []Filter) []*Conn {
	var found []*Conn
	for _, c := range p.conns {
		if all(filters, c, c.requests.kept) {
			found = append(found, c)
		}
	}
	return found
}

// notify wakes all who await something. The caller holds mu.
func (p *Proxy) notify() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// abort closes a connection so that its other end sees a reset and not an end.
func abort(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}
