package wire_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/wire"
)

func TestHoldRequests(t *testing.T) {
	s, p := plain(t)
	c := dial(t, p)
	send(t, c, "a")
	reads(t, c, "re:a")
	p.HoldRequests()
	send(t, c, "b")
	conns := awaitHeld(t, p, 1)
	send(t, c, "c")
	until(t, "both are held", func() bool { return conns[0].Stats().HeldRequests == 2 })
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
	s, p := plain(t)
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
	_, p := plain(t)
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
			s, p := plain(t)
			p.HoldRequests()
			c := dial(t, p)
			send(t, c, "late")
			held := awaitHeld(t, p, 1)[0]
			if err := giveUp(c); err != nil {
				t.Fatal(err)
			}
			until(t, "the proxy has seen it", func() bool { return held.Stats().ClientGone })
			s.silent(t, 1, "")
			p.Release()
			s.heard(t, 1, "late")
			if err := s.ended(t); err != nil {
				t.Errorf("the server saw %v", err)
			}
			until(t, "nothing of it is left", func() bool { return len(p.Conns()) == 0 })
		})
	}
}

func TestHoldReplies(t *testing.T) {
	s, p := plain(t)
	c, conn := heldReply(t, s, p)
	if st := conn.Stats(); st.HeldReplies != 4 || st.Replies != 0 || st.HeldRequests != 0 {
		t.Errorf("counted %+v", st)
	}
	p.Release()
	reads(t, c, "re:a")
}
