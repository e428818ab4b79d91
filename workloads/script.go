package workloads

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/lock"
)

// Step is one thing that a client is told to do.
type Step struct {
	Do      history.Kind `json:"do"`                // acquire, draw, read, claim, check, renew, write, release
	Tries   int          `json:"tries,omitempty"`   // acquire: attempts at most; 0 until it is given up
	Request string       `json:"request,omitempty"` // write: names the request; a resend has the same
	// Think is how long a write is thought about first.
	Think time.Duration `json:"think,omitempty"` // ns
	// Look, of a write, leaves it out if the lease is known to be lost by then.
	Look  bool   `json:"look,omitempty"`
	Guard string `json:"guard,omitempty"` // claim, write: another guard than the strategy's, a second entry say
}

// Look is a step that is no operation, for it asks nobody: is the lease known to
// be lost?
const Look history.Kind = "look"

// script is what a client that is played keeps between its steps.
type script struct {
	played  bool
	grant   grant
	basis   *basis
	request string // the name of the next write's request, "" for one of its own
}

// orWhole is ctx for a client that is played, whose single requests can be
// given up, and a context without end for one that runs by itself.
func (s *script) orWhole(ctx context.Context) context.Context {
	if s.played {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// Play does one step. A step without sense (a write without a basis, a release
// without a grant) is an error of the script, and nothing is done. The end of
// ctx gives up the request in hand, whose outcome is then unknown.
func (c *Client) Play(ctx context.Context, s Step) (Done, error) {
	c.script.played = true
	g := &c.script.grant
	by := c.Strategy.Guard
	if s.Guard != "" && s.Guard != by.Name {
		kind, ok := guardByName(s.Guard)
		if !ok {
			return Done{}, fmt.Errorf("unknown guard %q", s.Guard)
		}
		by = kind
	}
	if err := c.sensible(s); err != nil {
		return Done{}, err
	}
	switch s.Do {
	case history.Acquire:
		tries := s.Tries
		if tries == 0 {
			tries = forEver
		}
		got, done, tried := c.acquire(ctx, tries)
		done.Tries = tried
		if got != nil {
			*g = *got
		}
		return done, nil
	case history.Draw:
		return c.draw(ctx, g), nil
	case history.Read, history.Claim:
		b, done := c.read(ctx, g, s.Do, by)
		if done.Outcome == history.OK {
			c.script.basis = &b
		}
		return done, nil
	case history.Check:
		return c.check(ctx, g), nil
	case history.Renew:
		return c.renew(ctx, g), nil
	case history.Write:
		_ = lock.Pause(ctx, s.Think)
		if s.Look && c.knownLost(g) {
			return Done{Kind: history.Write, Outcome: history.Lost}, nil
		}
		c.script.request = s.Request
		return c.write(ctx, g, *c.script.basis, by), nil
	case Look:
		if c.knownLost(g) {
			return Done{Kind: Look, Outcome: history.Lost}, nil
		}
		return Done{Kind: Look, Outcome: history.OK}, nil
	case history.Release:
		done := c.release(ctx, g)
		*g = grant{}
		return done, nil
	default:
		return Done{}, fmt.Errorf("unknown step %q", s.Do)
	}
}

// sensible refuses steps that the client cannot do now.
func (c *Client) sensible(s Step) error {
	locked := c.script.grant.id != ""
	can := func(ok bool, what string) error {
		if !ok {
			return fmt.Errorf("the locker %s cannot %s", orNone(c.Strategy.Locker.Name), what)
		}
		return nil
	}
	switch s.Do {
	case history.Acquire:
		return can(c.Locker != nil, "be acquired")
	case history.Draw:
		_, ok := c.Locker.(lock.Tokener)
		return errors.Join(can(ok, "draw a token afterwards"), has(locked, s.Do, "grant"))
	case history.Check:
		_, ok := c.Locker.(lock.Checker)
		return errors.Join(can(ok, "check"), has(locked, s.Do, "grant"))
	case history.Renew:
		_, ok := c.Locker.(lock.Renewer)
		return errors.Join(can(ok, "renew"), has(locked, s.Do, "grant"))
	case history.Claim, history.Release:
		return has(locked, s.Do, "grant")
	case history.Write:
		return has(c.script.basis != nil, s.Do, "basis")
	}
	return nil
}

func has(ok bool, do history.Kind, what string) error {
	if !ok {
		return fmt.Errorf("%s without a %s", do, what)
	}
	return nil
}

// Held is a grant that is handed on to another process, a separate renewer say.
type Held struct {
	Resource string     `json:"resource,omitempty"`
	Client   string     `json:"client"` // whose grant it is
	Grant    string     `json:"grant"`  // its id
	Lease    lock.Lease `json:"lease"`
}

// Held is the grant under which the client acts.
func (c *Client) Held() Held {
	return Held{Client: c.name(), Grant: c.script.grant.id, Lease: c.script.grant.lease}
}

// Adopt lets the client act under another's grant. What it does is recorded as
// that client's, by a process of its own.
func (c *Client) Adopt(h Held) {
	c.script.grant = grant{id: h.Grant, lease: h.Lease}
	c.acting, c.Alias = c.Alias, h.Client
}
