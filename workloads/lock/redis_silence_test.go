package lock

import (
	"errors"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/cluster/clustertest"
	"github.com/torture-harness/torture/harness/wire"
)

// TestSilence: the answer to the SET is lost on its way, in a proxy, once when
// it was a yes and once when it was a no.
func TestSilence(t *testing.T) {
	t.Parallel()
	s := clustertest.Start(t, cluster.Spec{Redis: 1}).Redis[0]
	const ttl = 20 * time.Second // much longer than the test takes
	holder := openSetNX(t, s, ttl)
	b := bench{values: valuesOf([]*cluster.Server{s}), nodes: 1}
	for name, row := range map[string]struct {
		option     RedisOption
		yes, no    error // what it says when the lost answer was a yes, a no
		leavesNone bool  // a key that it took and does not know of
	}{
		"taken for a yes":   {SilenceIsYes(), nil, nil, false},
		"taken for a no":    {SilenceIsNo(), ErrHeld, ErrHeld, false},
		"asked once more":   {LibraryRetries(), ErrHeld, ErrHeld, false},
		"what it should be": {func(*RedisSetNX) {}, Unknown{}, Unknown{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Run("the answer was yes", func(t *testing.T) {
				_, err := takeInSilence(t, s, t.Name(), ttl, row.option)
				wantKind(t, err, row.yes)
				if left := len(b.values(t, t.Name())); (left == 0) != row.leavesNone {
					t.Errorf("%d keys are left", left)
				}
			})
			t.Run("the answer was no", func(t *testing.T) {
				held := mustTake(t, holder, t.Name())
				_, err := takeInSilence(t, s, t.Name(), ttl, row.option)
				wantKind(t, err, row.no)
				b.wantOwner(t, held)
			})
		})
	}
}

// takeInSilence makes an attempt, the answer to whose first SET is lost.
func takeInSilence(t *testing.T, s *cluster.Server, key string, ttl time.Duration, option RedisOption) (Lease, error) {
	t.Helper()
	p, err := wire.Listen(s.Addr)
	must(t, err)
	t.Cleanup(func() { must(t, p.Close()) })
	l := NewRedisSetNX(Server{Addr: p.Addr(), Password: s.Password}, ttl, patience, 1, NewJitter(1, 1), option)
	t.Cleanup(func() { must(t, l.Close()) })
	p.HoldRequests(wire.Containing(key))
	type result struct {
		lease Lease
		err   error
	}
	taken := make(chan result, 1)
	go func() {
		lease, err := l.Acquire(soon(t), key, func(int64) {})
		taken <- result{lease, err}
	}()
	conns, err := p.AwaitHeld(soon(t), 1)
	must(t, err)
	p.CutReplies(wire.Only(conns...))
	p.Release()
	r := <-taken
	if !conns[0].Stats().ReplyCut {
		t.Error("no answer was cut")
	}
	return r.lease, r.err
}

// wantKind wants an error like another, or none; of an Unknown any.
func wantKind(t *testing.T, err, want error) {
	t.Helper()
	if unknown := (Unknown{}); errors.As(want, &unknown) {
		if !errors.As(err, &unknown) {
			t.Errorf("got %v, want an unknown outcome", err)
		}
		return
	}
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}
