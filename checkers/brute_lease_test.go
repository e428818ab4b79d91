package checkers

import (
	"math/rand/v2"
	"testing"

	"github.com/torture-harness/torture/harness/history"
)

// lockStore tries every order in which one lock can have executed what was
// recorded. It shares nothing with the two-sided rule but the meaning of a
// lease: it lasts at least until its TTL after it was set or renewed, and then
// ends by itself, at once or later; a release ends it; an acquire needs a free
// lock, a renewal its own, and "not yours" is said of a lease that is over.
type lockStore struct {
	ops   []*history.Operation
	grant []int    // of ops: index of the acquire, its own for an acquire
	after []uint32 // of ops: what must have been executed before
	ends  []int64  // of ops that set or renew a lease: until when it certainly lasts
	reach map[reached]int64
}

// reached is what has been executed and who holds the lock then.
type reached struct {
	done   uint32
	holder int // index of the acquire, nobody if there is none
	last   int // index of what set or renewed the holder's lease
}

const nobody = -1

// possible reports whether some order of execution explains the history. slack
// is how much earlier than by our clock a lease may end.
func possible(h *history.History, slack int64) bool {
	s := lockStore{reach: map[reached]int64{}}
	released := map[string]int64{}
	ttl := map[string]int64{}
	for i := range h.Operations {
		o := &h.Operations[i]
		if _, before := released[o.Grant]; o.Kind == history.Release && !before {
			released[o.Grant] = o.Call
		}
	}
	for i := range h.Operations { // by call
		o := &h.Operations[i]
		if o.Kind == history.Renew && o.Outcome == history.Info {
			continue // it may have done nothing, which binds least
		}
		end := int64(past)
		switch {
		case o.Kind == history.Acquire && o.LeaseTTL == 0:
			end = o.LeaseCall // a session that may be over at once
			if call, ok := released[o.ID]; ok {
				end = call // it was not
			}
			end -= slack
		case o.Kind == history.Acquire, o.Kind == history.Renew && o.Outcome == history.OK:
			if o.LeaseTTL != 0 {
				ttl[o.Grant] = o.LeaseTTL
			}
			end = o.LeaseCall + ttl[o.Grant] - slack
		}
		s.ops, s.ends = append(s.ops, o), append(s.ends, end)
		// A client sends nothing before it has the answer to what it sent last, and
		// nobody acts under a grant before it was given; whatever equal stamps say.
		grant, after := len(s.ops)-1, uint32(0)
		for j, p := range s.ops[:grant] {
			if p.ID == o.Grant {
				grant = j
			}
			if p.ID == o.Grant || p.Process == o.Process {
				after |= 1 << j
			}
		}
		s.grant, s.after = append(s.grant, grant), append(s.after, after)
	}
	return s.execute(reached{holder: nobody}, past)
}

// execute does one more of what is left, each as early as it can be: nothing
// becomes easier later.
func (s *lockStore) execute(here reached, now int64) bool {
	if before, known := s.reach[here]; known && before <= now {
		return false
	}
	s.reach[here] = now
	all := true
	for i, o := range s.ops {
		if here.done&(1<<i) != 0 {
			continue
		}
		if o.Outcome != history.Info {
			all = false
		}
		if s.after[i]&^here.done != 0 {
			continue
		}
		at := max(now, o.Call)
		next := reached{here.done | 1<<i, here.holder, here.last}
		mine := here.holder == s.grant[i]
		switch {
		case o.Kind == history.Release && o.Outcome != history.Lost:
			if mine {
				next.holder, next.last = nobody, 0
			}
		case o.Outcome == history.Lost:
			if mine && o.Return < s.ends[here.last] {
				continue
			}
			if mine && o.Kind == history.Renew {
				at = max(at, s.ends[here.last])
			}
			if mine { // a release that says "not yours" may yet have ended it, on some of several nodes
				next.holder, next.last = nobody, 0
			}
		case o.Kind == history.Renew:
			if !mine {
				continue
			}
			next.last = i
		default: // acquire
			if here.holder != nobody {
				at = max(at, s.ends[here.last])
			}
			next.holder, next.last = i, i
		}
		if at <= o.Return && s.execute(next, at) {
			return true
		}
	}
	return all
}

// TestBruteForceOfLeases compares lease-exclusion with every order of
// execution: violated iff none is possible. Where the clock is not ours, the rule
// may be kinder than that.
func TestBruteForceOfLeases(t *testing.T) {
	t.Logf("seed %d, %d histories", bruteSeed, randomHistories)
	rng := rand.New(rand.NewPCG(bruteSeed, 4))
	counts := map[bool]int{}
	removals, doubted := 0, 0
	for tries := range randomHistories {
		hist := generateLeases(rng)
		if err := hist.Validate(); err != nil {
			t.Fatalf("try %d: %v\n%s", tries, err, listing(hist))
		}
		slack := int64(0)
		if hist.Header.LeaseBy == "redis" {
			slack = RedisSlack
		}
		e := gather(hist)[0]
		double, gone := leaseExclusion{exclusive}.overlaps(e, slack), removed(e, slack)
		want := possible(hist, slack)
		got := len(double)+len(gone) == 0
		if got && !want && slack > 0 {
			doubted++ // the slack is taken off a release's call too, which needs none
			continue
		}
		if got != want {
			t.Fatalf("try %d: lease-exclusion is %v, the rule says %v\n%s", tries, want, got, listing(hist))
		}
		counts[want]++
		if len(double) == 0 && len(gone) > 0 {
			removals++
		}
	}
	t.Logf("%d possible, %d not, of these %d only because a live lease was removed; %d within the slack", counts[true], counts[false], removals, doubted)
	if least := randomHistories / 50; counts[true] < least || counts[false] < least || removals < least/4 {
		t.Error("the histories are too one-sided to show anything")
	}
}

// TestBruteForceOfTokens compares token-order with its definition, pair by pair.
func TestBruteForceOfTokens(t *testing.T) {
	t.Logf("seed %d, %d histories", bruteSeed, randomHistories)
	rng := rand.New(rand.NewPCG(bruteSeed, 5))
	counts := map[bool]int{}
	for tries := range randomHistories {
		hist := generateLeases(rng)
		var grants []*history.Operation
		for i := range hist.Operations {
			if o := &hist.Operations[i]; o.Kind == history.Acquire {
				grants = append(grants, o)
			}
		}
		wrong := map[string]bool{} // pairs, the one to blame first
		late := map[string]bool{}  // who has an older grant with a token that is not smaller
		share := map[int64]int{}
		for _, g := range grants {
			share[g.Token]++
			for _, later := range grants {
				newer := g.Return < later.Call
				if g != later && (g.Token == later.Token || newer && g.Token >= later.Token) {
					wrong[later.ID+" "+g.ID] = true
				}
				if newer && g.Token >= later.Token {
					late[later.ID] = true
				}
			}
		}
		for _, f := range misordered(gather(hist)[0]) {
			h := f.grants[1]
			if !wrong[h.id+" "+f.grants[0].id] {
				t.Fatalf("try %d: %s is blamed with %s, which is in order\n%s", tries, h.id, f.grants[0].id, listing(hist))
			}
			delete(late, h.id)
			share[h.token]--
		}
		for id := range late {
			t.Fatalf("try %d: %s is not blamed\n%s", tries, id, listing(hist))
		}
		for token, n := range share {
			if n > 1 {
				t.Fatalf("try %d: %d grants share token %d and are not blamed\n%s", tries, n, token, listing(hist))
			}
		}
		counts[len(wrong) == 0]++
	}
	t.Logf("%d in order, %d not", counts[true], counts[false])
	if least := randomHistories / 50; counts[true] < least || counts[false] < least {
		t.Error("the histories are too one-sided to show anything")
	}
}
