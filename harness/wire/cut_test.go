package wire_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/torture-harness/torture/harness/wire"
)

func TestCutReplies(t *testing.T) {
	s, p := plain(t)
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
	if err := s.ended(t); err != nil { // it noticed nothing but the end
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
	s, p := plain(t)
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
	s, p := plain(t)
	c, conn := heldReply(t, s, p)
	p.CutReplies()
	isReset(t, c)
	if st := conn.Stats(); !st.ReplyCut || st.Dropped != 4 {
		t.Errorf("counted %+v", st)
	}
}

// A client whose reply was cut has given up; what it had sent behind that is
// forwarded all the same.
func TestCutReplyKeepsHeldRequests(t *testing.T) {
	s, p := plain(t)
	c, _ := heldReply(t, s, p)
	p.HoldRequests()
	send(t, c, "b")
	awaitHeld(t, p, 1)
	p.CutReplies()
	isReset(t, c)
	p.Release()
	s.heard(t, 1, "ab")
}

func TestCutNow(t *testing.T) {
	s, p := plain(t)
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
