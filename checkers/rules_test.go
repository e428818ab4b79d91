package checkers

import (
	"strings"
	"testing"

	"github.com/torture-harness/torture/harness/history"
)

// TestLeaseEnd: until when a lease certainly lasts.
func TestLeaseEnd(t *testing.T) {
	a := lease(100, acquires("A", "gA", 10, 12))
	renew := func(leaseFrom, ttl, call int64) op {
		return leaseCall(leaseFrom, lease(ttl, renews("A", "gA", call, call+1)))
	}
	for _, c := range []struct {
		name string
		ops  []op
		want int64
	}{
		{"as granted", []op{a}, 110},
		{"renewed", []op{a, renew(50, 100, 50)}, 150},
		{"renewed for as long as before", []op{a, renew(50, 0, 50)}, 150},
		{"a renewal of before does not count", []op{a, renew(5, 500, 50)}, 110},
		{"renewed in the same request", []op{a, renew(10, 50, 50)}, 60},
		{"given back", []op{a, releases("A", "gA", 30, 31)}, 30},
		{"given back twice", []op{a, releases("A", "gA", 30, 31), lost(releases("A", "gA", 40, 41))}, 30},
		{"given back after its end", []op{a, releases("A", "gA", 130, 131)}, 110},
		{"without a lease, given back", []op{lease(0, acquires("A", "gA", 10, 12)), releases("A", "gA", 30, 31)}, 30},
		{"without a lease", []op{lease(0, acquires("A", "gA", 10, 12))}, 10},
	} {
		g := gather(recorded(c.ops...))[0].grants[0]
		for _, slack := range []int64{0, 2} {
			if got := leaseEnd(g, slack*ms); got != (c.want-slack)*ms {
				t.Errorf("%s: %d ms with a slack of %d, want %d", c.name, got/ms, slack, c.want-slack)
			}
		}
	}
}

// TestRemovedOnce: a live lease is removed once, however often its holder hears
// of it; that it hears of it when it asks proves nothing.
func TestRemovedOnce(t *testing.T) {
	a := lease(1000, acquires("A", "gA", 1, 2))
	check := lost(at("A", history.Check, "check", 10, 11))
	check.Grant = "gA"
	for _, c := range []struct {
		name string
		ops  []op
		want int
	}{
		{"a renewal and the release", []op{a, lost(renews("A", "gA", 10, 11)), lost(releases("A", "gA", 20, 21))}, 1},
		{"two renewals", []op{a, lost(renews("A", "gA", 10, 11)), lost(renews("A", "gA", 20, 21))}, 1},
		{"a check", []op{a, check}, 0},
		{"a check and the release", []op{a, check, lost(releases("A", "gA", 20, 21))}, 1},
	} {
		if got := removed(gather(recorded(c.ops...))[0], 0); len(got) != c.want {
			t.Errorf("%s: %d, want %d", c.name, len(got), c.want)
		}
	}
}

// TestOnlyClocksTellTheTime: nothing else in a history has an offset.
func TestOnlyClocksTellTheTime(t *testing.T) {
	h := &history.History{Events: []history.Event{
		{Type: history.TypeClock, Time: 1, Offset: 1e18}, {Type: history.TypeStall, Time: 2}, {Type: history.TypeStall, Time: 3},
		{Type: history.TypeClock, Time: 4, Offset: 1e18 + 5}, {Type: history.TypeClock, Time: 5, Offset: 1e18 + 5},
	}}
	if got := clockStep(h); got != 5 {
		t.Errorf("a step of %d ns, want 5", got)
	}
}

// TestTokensThatSayNothing: without a lock, without tokens, and for a grant
// that never got to draw one.
func TestTokensThatSayNothing(t *testing.T) {
	falling := []op{token(42, acquires("A", "gA", 0, 1)), token(41, acquires("B", "gB", 5, 6))}
	without := recorded(falling...)
	for name, c := range map[string]struct {
		h    *history.History
		want Verdict
	}{
		"no tokens":        {without, NotApplicable},
		"no lock":          {lockless(withTokens(recorded(falling...))), NotApplicable},
		"never drawn":      {withTokens(recorded(acquires("A", "gA", 0, 1), acquires("B", "gB", 5, 6))), Holds},
		"one never drawn":  {withTokens(recorded(token(42, acquires("A", "gA", 0, 1)), acquires("B", "gB", 5, 6))), Holds},
		"one drawn before": {withTokens(recorded(acquires("A", "gA", 0, 1), token(42, acquires("B", "gB", 5, 6)))), Holds},
	} {
		if o := (tokenOrder{}).Check(newCell(t.Context(), c.h, nil, Config{})); o.verdict != c.want || len(o.culprits) > 0 {
			t.Errorf("%s: %s, want %s", name, o.verdict, c.want)
		}
	}
}

// TestTokenBlame: who is named beside a token that is wrong.
func TestTokenBlame(t *testing.T) {
	grant := func(id string, n, call int64) op {
		return token(n, acquires(strings.ToUpper(id[1:]), id, call, call+1))
	}
	for _, c := range []struct {
		name string
		ops  []op
		want []string // the one to blame and the other
	}{
		{"three share one", []op{grant("gA", 7, 0), grant("gB", 7, 5), grant("gC", 7, 10)}, []string{"gB gA", "gC gA"}},
		{"below two that share one", []op{grant("gA", 50, 0), grant("gB", 50, 5), grant("gC", 49, 10)}, []string{"gB gA", "gC gA"}},
		{"below the largest of several", []op{grant("gA", 50, 0), grant("gB", 52, 5), grant("gC", 51, 10)}, []string{"gC gB"}},
	} {
		var got []string
		for _, k := range misordered(gather(recorded(c.ops...))[0]) {
			got = append(got, k.op+" "+k.grants[0].id)
		}
		if strings.Join(got, ", ") != strings.Join(c.want, ", ") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
