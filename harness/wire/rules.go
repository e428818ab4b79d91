package wire

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Filter chooses connections, by what they are or by the bytes that are to be
// forwarded next: everything accepted on that direction and not yet forwarded.
// It is asked under a lock and must only look at c.Name, c.ID and next.
type Filter func(c *Conn, next []byte) bool

// Named chooses connections by the application_name of their PostgreSQL client.
func Named(names ...string) Filter {
	return func(c *Conn, _ []byte) bool { return slices.Contains(names, c.Name()) }
}

// NamePrefix chooses connections whose name begins so.
func NamePrefix(prefix string) Filter {
	return func(c *Conn, _ []byte) bool { return strings.HasPrefix(c.Name(), prefix) }
}

// Only chooses these connections.
func Only(conns ...*Conn) Filter {
	return func(c *Conn, _ []byte) bool { return slices.Contains(conns, c) }
}

// Containing chooses a connection once text stands in its next bytes: the
// first request with this key, say. Clients send a small request in one piece.
func Containing(text string) Filter {
	return func(_ *Conn, next []byte) bool { return bytes.Contains(next, []byte(text)) }
}

func all(filters []Filter, c *Conn, next []byte) bool {
	return !slices.ContainsFunc(filters, func(f Filter) bool { return !f(c, next) })
}

type ruleKind int

const (
	holdRequests ruleKind = iota
	holdReplies
	cutReplies
)

// rule applies to the connections that match, those that are there and those to
// come.
type rule struct {
	kind    ruleKind
	number  int
	filters []Filter
}

// applies says whether a rule matches a pipe that has these bytes to forward.
// The caller holds mu.
func (p *Proxy) applies(kind ruleKind, to *pipe, next []byte) bool {
	return slices.ContainsFunc(p.rules, func(r rule) bool {
		return r.kind == kind && (kind == cutReplies || r.number > to.freed) && all(r.filters, to.conn, next)
	})
}

func (p *Proxy) add(kind ruleKind, filters []Filter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seq++
	p.rules = append(p.rules, rule{kind, p.seq, filters})
}

// HoldRequests keeps what clients send: it is accepted and not forwarded. It
// applies to connections that match all filters (to every one without a
// filter), present and future, to all that is sent after it has returned, and
// from the first bytes that match on to everything behind them, until Release.
// What a client sent before it closed or reset its side stays and is forwarded
// at the release; then the server's side is closed.
func (p *Proxy) HoldRequests(filters ...Filter) { p.add(holdRequests, filters) }

// HoldReplies keeps what the server answers. The requests have been executed.
func (p *Proxy) HoldReplies(filters ...Filter) { p.add(holdReplies, filters) }

// CutReplies drops the next reply of every connection that matches, held ones
// too, and resets the connection to the client; its request has been forwarded
// and is executed: the reply is lost. Replies that a client reads before that
// are none of it, so choose with Containing, or hold first and take those that
// AwaitHeld returns. It applies to connections present and future until Heal.
func (p *Proxy) CutReplies(filters ...Filter) {
	p.add(cutReplies, filters)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		if c.replies.heldBytes() > 0 {
			p.push(c.replies)
		}
	}
}

// CutNow resets the connections that match, both sides. What was held is lost.
func (p *Proxy) CutNow(filters ...Filter) {
	for _, c := range p.Conns(filters...) {
		c.reset()
	}
}

// Release forwards all that is held, requests and replies, each connection's in
// order, and forgets what is to be held. With filters it does so for the open
// connections that match (Containing looks at their held requests): the present
// rules then apply to all but these. It does not wait: see AwaitForwarded.
func (p *Proxy) Release(filters ...Filter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seq++
	if len(filters) == 0 {
		p.rules = slices.DeleteFunc(p.rules, func(r rule) bool { return r.kind != cutReplies })
	}
	for _, c := range p.matching(filters) {
		p.free(c.requests)
		p.free(c.replies)
	}
}

// free lets a pipe go on, and out of all present rules that hold. The caller
// holds mu.
func (p *Proxy) free(what *pipe) {
	what.freed = p.seq
	if what.holding {
		what.holding = false
		p.push(what)
	}
}

// push forwards what a pipe keeps. The caller holds mu.
func (p *Proxy) push(what *pipe) {
	if !p.closed {
		p.running.Go(func() { what.forward(nil) })
	}
}

// Heal forgets all that is to be done, and forwards all that is held.
func (p *Proxy) Heal() {
	p.mu.Lock()
	p.rules = nil
	p.mu.Unlock()
	p.Release()
}

// Held lists the connections that match and have requests kept now.
func (p *Proxy) Held(filters ...Filter) []*Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.having(filters, func(c *Conn) bool { return c.requests.heldBytes() > 0 })
}

// AwaitHeld returns once the requests of n connections or more that match are
// held, with these connections: proof that the requests are under way and not
// executed. At the end of ctx it returns those there are, with an error.
func (p *Proxy) AwaitHeld(ctx context.Context, n int, filters ...Filter) ([]*Conn, error) {
	return p.await(ctx, n, "requests are held", filters, func(c *Conn) bool { return c.requests.heldBytes() > 0 })
}

// AwaitHeldReplies does so for replies: proof that the requests have been
// executed and their clients do not know.
func (p *Proxy) AwaitHeldReplies(ctx context.Context, n int, filters ...Filter) ([]*Conn, error) {
	return p.await(ctx, n, "replies are held", filters, func(c *Conn) bool { return c.replies.heldBytes() > 0 })
}

// AwaitForwarded returns once nothing is kept for these connections any more:
// what Release let go has been handed to the server's, or the client's, kernel.
func (p *Proxy) AwaitForwarded(ctx context.Context, conns ...*Conn) error {
	for {
		p.mu.Lock()
		left := slices.ContainsFunc(conns, func(c *Conn) bool { return c.requests.waiting() || c.replies.waiting() })
		changed := p.changed
		p.mu.Unlock()
		if !left {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("proxy to %s: not everything is forwarded: %w", p.target, context.Cause(ctx))
		}
	}
}

func (p *Proxy) having(filters []Filter, is func(*Conn) bool) []*Conn {
	return slices.DeleteFunc(p.matching(filters), func(c *Conn) bool { return !is(c) })
}

func (p *Proxy) await(ctx context.Context, n int, what string, filters []Filter, is func(*Conn) bool) ([]*Conn, error) {
	for {
		p.mu.Lock()
		found, changed := p.having(filters, is), p.changed
		p.mu.Unlock()
		if len(found) >= n {
			return found, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return found, fmt.Errorf("proxy to %s: %s on %d connections, not %d: %w", p.target, what, len(found), n, context.Cause(ctx))
		}
	}
}
