package claims

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/history"
)

// keyState is what a key of Redis looked like in one look.
type keyState struct {
	value   string
	expires bool
	left    time.Duration
	at      int64 // ns, before the look: if it expires, then not before at + left
}

func (k keyState) there() bool { return k.value != "" }

// until is when the key ends at the earliest.
func (k keyState) until() int64 { return k.at + int64(k.left) }

// look looks at a key of the first Redis, value and expiry in one step.
func (s *Stage) look(ctx context.Context, key string) keyState {
	k := keyState{at: history.Now()}
	var value *redis.StringCmd
	var left *redis.DurationCmd
	_, err := s.Servers.Redis(0).TxPipelined(ctx, func(p redis.Pipeliner) error {
		value, left = p.Get(ctx, key), p.PTTL(ctx, key)
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		if ctx.Err() == nil {
			s.must(err, "look at the key of the lock")
		}
		return keyState{at: k.at}
	}
	k.value, k.left = value.Val(), left.Val()
	switch k.left { // what is no time is what it is in the answer, -1 or -2
	case -1:
		k.left = 0
	case -2:
		k.value, k.left = "", 0
	default:
		k.expires = k.there()
	}
	return k
}

// lookNow is one look.
func (s *Stage) lookNow(key string) keyState {
	ctx, cancel := s.Context()
	defer cancel()
	return s.look(ctx, key)
}

// tellEarly tells early(b): whether b was granted the lock before a's lease had
// ended and a had called its release.
func (s *Stage) tellEarly(b, a *Actor) {
	got, took, early := b.Last(history.Acquire), a.Last(history.Acquire), "no"
	end := a.LeaseEnd() - checkers.RedisSlack
	if released := a.Last(history.Release); released.Call > took.Return {
		end = min(end, released.Call)
	}
	if got.Outcome == history.OK {
		if got.Return < end {
			early = "yes"
		}
		s.Say("%s was granted the lock %.2f leases after %s, at its try %d", b.Name, float64(got.Return-took.LeaseCall)/float64(s.TTL), a.Name, got.Tries)
	}
	s.Tell("early("+b.Name+")", early)
}

// Suspend stops a server that is the case's own. What it returns lets the
// server go on, at the moment that it returns.
func (s *Stage) Suspend(server *cluster.Server) (goOn func() int64) {
	id := s.stopServer(server, "")
	var at int64
	resume := s.Heal(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		at = history.Now()
		s.Fault(id, "stop-server", history.Resumed, server.Name, "")
		if err := server.Continue(ctx); err == nil {
			s.Say("%s went on", server.Name)
		}
	})
	return func() int64 { resume(); return at }
}
