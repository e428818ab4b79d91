package wire

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// Conn is one connection of a client through the proxy, with its counterpart to
// the server.
type Conn struct {
	proxy    *Proxy
	id       int
	client   *net.TCPConn
	server   *net.TCPConn
	requests *pipe // client to server
	replies  *pipe // server to client

	named      atomic.Pointer[string]
	clientGone atomic.Bool // nobody reads replies any more
	cut        bool        // a reply was cut; guarded by Proxy.mu
}

func newConn(p *Proxy, client, server *net.TCPConn) *Conn {
	c := &Conn{proxy: p, client: client, server: server}
	c.requests = &pipe{conn: c, src: client, dst: server, naming: true}
	c.replies = &pipe{conn: c, src: server, dst: client}
	return c
}

// ID numbers the connections of a proxy, from 1.
func (c *Conn) ID() int { return c.id }

// Name is the application_name of a PostgreSQL connection, "" of any other and
// as long as the client has not said it.
func (c *Conn) Name() string {
	if name := c.named.Load(); name != nil {
		return *name
	}
	return ""
}

// Stats is what has happened to a connection. All counts are of bytes.
type Stats struct {
	HeldRequests int   // kept now
	HeldReplies  int   // kept now
	Requests     int64 // forwarded to the server
	Replies      int64 // forwarded to the client
	Dropped      int64 // replies that the client will never read
	ReplyCut     bool  // a reply was cut
	ClientGone   bool  // the client has closed or reset its side, or was reset
}

// Stats counts; they stay valid after the end of the connection.
func (c *Conn) Stats() Stats {
	c.proxy.mu.Lock()
	defer c.proxy.mu.Unlock()
	return Stats{
		HeldRequests: c.requests.heldBytes(), HeldReplies: c.replies.heldBytes(),
		Requests: c.requests.forwarded, Replies: c.replies.forwarded, Dropped: c.replies.dropped,
		ReplyCut: c.cut, ClientGone: c.requests.ended || c.clientGone.Load(),
	}
}

// reset ends both sides at once; what was kept is lost.
func (c *Conn) reset() {
	c.proxy.mu.Lock()
	for _, p := range []*pipe{c.requests, c.replies} {
		p.kept, p.holding, p.broken = nil, false, true
	}
	c.clientGone.Store(true)
	c.proxy.notify()
	c.proxy.mu.Unlock()
	abort(c.client)
	abort(c.server)
}

// dropClient resets the client's side only. The server notices nothing until
// what it has been sent is done: it gets the rest of the requests, then an end.
func (c *Conn) dropClient() {
	c.clientGone.Store(true)
	abort(c.client)
}

// pipe is one direction of a connection.
type pipe struct {
	conn     *Conn
	src, dst *net.TCPConn

	// writing keeps bytes in order: whoever decides what is forwarded next holds
	// it until that is written.
	writing sync.Mutex

	// guarded by Proxy.mu
	kept      []byte // accepted and not forwarded
	holding   bool   // a rule has taken hold of it, until it is released
	freed     int    // rules up to this number do not apply to it
	naming    bool   // requests: the name is not known yet, so kept may be its beginning
	ended     bool   // nothing more will come from src
	torn      bool   // src ended with a reset, or a fault, instead of an end
	busy      bool   // bytes are being written
	finished  bool   // everything has been forwarded, the end too
	broken    bool   // both sides were reset
	forwarded int64
	dropped   int64
}

// heldBytes is how much a rule keeps. The caller holds Proxy.mu.
func (p *pipe) heldBytes() int {
	if !p.holding {
		return 0
	}
	return len(p.kept)
}

// waiting: not everything that was accepted has been written. The caller holds
// Proxy.mu.
func (p *pipe) waiting() bool { return len(p.kept) > 0 || p.busy }

// run forwards until the end of src has been forwarded too.
func (p *pipe) run() {
	buf := make([]byte, 32<<10)
	for {
		n, err := p.src.Read(buf)
		if n > 0 {
			p.forward(buf[:n])
		}
		if err != nil {
			p.end(!errors.Is(err, io.EOF))
			return
		}
	}
}

// end forwards the end of src, once what is kept has been released and written.
func (p *pipe) end(torn bool) {
	proxy := p.conn.proxy
	proxy.mu.Lock()
	p.ended, p.torn = true, torn
	proxy.notify()
	proxy.mu.Unlock()
	p.forward(nil)
	for {
		proxy.mu.Lock()
		over, changed := p.finished || p.broken, proxy.changed
		proxy.mu.Unlock()
		if over {
			return
		}
		<-changed
	}
}

// forward adds what was read to what is kept, and writes all of it unless it is
// held.
func (p *pipe) forward(read []byte) {
	p.writing.Lock()
	defer p.writing.Unlock()
	out, finish := p.next(read)
	if len(out) > 0 {
		p.write(out)
	}
	if finish {
		p.finish()
	}
}

// next decides what is to be written now, and whether that is all.
func (p *pipe) next(read []byte) (out []byte, finish bool) {
	c, proxy := p.conn, p.conn.proxy
	proxy.mu.Lock()
	defer proxy.mu.Unlock()
	if p.broken || p.finished {
		return nil, false
	}
	if len(p.kept) > 0 {
		p.kept = append(p.kept, read...)
		read = p.kept
	}
	switch {
	case p == c.replies && c.clientGone.Load():
		p.drop(read)
	case p == c.requests && p.unnamed(read):
		p.keep(read)
		return nil, false
	case p == c.replies && len(read) > 0 && proxy.applies(cutReplies, p, read):
		c.cut = true
		p.drop(read)
		c.dropClient()
	case p.holds(read):
		p.keep(read)
		p.holding = true
		proxy.notify()
		return nil, false
	default:
		p.kept, p.busy = nil, len(read) > 0
		p.forwarded += int64(len(read)) // before the answer to it can be counted
		out = read
	}
	return out, p.ended
}

// unnamed reads the name of a connection at its beginning; it reports whether
// more is needed for it.
func (p *pipe) unnamed(read []byte) bool {
	if !p.naming || len(read) == 0 {
		return false
	}
	name, known := startupName(read)
	if !known && !p.ended {
		return true
	}
	p.naming = false
	p.conn.named.Store(&name)
	return false
}

// drop gives up what there is to forward. The caller holds Proxy.mu.
func (p *pipe) drop(all []byte) {
	p.dropped += int64(len(all))
	p.kept, p.holding = nil, false
	p.conn.proxy.notify()
}

// holds: what is kept must stay. The caller holds Proxy.mu.
func (p *pipe) holds(next []byte) bool {
	if p.holding {
		return len(next) > 0
	}
	kind := holdRequests
	if p == p.conn.replies {
		kind = holdReplies
	}
	return len(next) > 0 && p.conn.proxy.applies(kind, p, next)
}

// keep remembers bytes that are in a buffer which will be used again.
func (p *pipe) keep(all []byte) {
	if len(all) > 0 && len(p.kept) > 0 && &all[0] == &p.kept[0] {
		return // they are kept already
	}
	p.kept = append([]byte(nil), all...)
}

// write hands bytes to dst. A client that does not take its replies must not
// keep its requests from the server, so only its own side ends.
func (p *pipe) write(out []byte) {
	n, err := p.dst.Write(out)
	proxy := p.conn.proxy
	proxy.mu.Lock()
	p.forwarded -= int64(len(out) - n)
	p.busy = false
	proxy.notify()
	proxy.mu.Unlock()
	switch {
	case err == nil:
	case p == p.conn.replies:
		p.conn.dropClient()
	default:
		p.conn.reset()
	}
}

// finish forwards the end of src: as a reset to the client if the server's side
// was one. The server always gets an orderly end, so that it does what it was
// sent before.
func (p *pipe) finish() {
	proxy := p.conn.proxy
	proxy.mu.Lock()
	p.finished = true
	torn := p.torn
	proxy.notify()
	proxy.mu.Unlock()
	if torn && p == p.conn.replies {
		p.conn.dropClient()
		return
	}
	_ = p.dst.CloseWrite()
}
