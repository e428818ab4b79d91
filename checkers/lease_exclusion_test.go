package checkers

import (
	"slices"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// leaseCase is one row of the two-sided rule. The lease is 1000 ms long.
type leaseCase struct {
	name  string
	by    string // whose clock ends it
	ops   []op
	want  Verdict
	first string // the culprit
}

func leaseCases() []leaseCase {
	a, b := lease(1000, acquires("A", "gA", 1, 2)), lease(1000, acquires("B", "gB", 500, 501))
	after := lease(1000, acquires("B", "gB", 1200, 1201))
	return []leaseCase{
		{"granted twice", "etcd", []op{a, b}, Violated, "gB"},
		{"granted after the lease", "etcd", []op{a, after}, Holds, ""},
		{"returned at the lease's end", "etcd", []op{a, lease(1000, acquires("B", "gB", 999, 1001))}, Holds, ""},
		{"returned just before the lease's end", "etcd", []op{a, lease(1000, acquires("B", "gB", 999, 1000))}, Violated, "gB"},
		{"the same with Redis: its clock may be 2 ms off", "redis", []op{a, lease(1000, acquires("B", "gB", 998, 999))}, Holds, ""},
		{"3 ms before the end with Redis", "redis", []op{a, lease(1000, acquires("B", "gB", 997, 998))}, Violated, "gB"},
		// The SET was executed at 1 and its reply read at 1500, inside B's lease:
		// half of the rule alone would call this a violation.
		{"stopped between sending and reading", "redis", []op{lease(1000, acquires("A", "gA", 1, 1500)), lease(1000, acquires("B", "gB", 1200, 1201))}, Holds, ""},
		{"both in flight at once", "redis", []op{lease(1000, acquires("A", "gA", 1, 1500)), lease(1000, acquires("B", "gB", 1100, 2300))}, Holds, ""},
		{"released before", "etcd", []op{a, releases("A", "gA", 400, 410), b}, Holds, ""},
		{"released before, nobody knows whether", "etcd", []op{a, unknownOp(releases("A", "gA", 400, 410)), b}, Holds, ""},
		{"release called while B's grant is in flight", "etcd", []op{a, releases("A", "gA", 500, 510), lease(1000, acquires("B", "gB", 490, 520))}, Holds, ""},
		{"release called after B's grant", "etcd", []op{a, releases("A", "gA", 502, 510), b}, Violated, "gB"},
		{"renewed", "etcd", []op{a, renews("A", "gA", 900, 901), after}, Violated, "gB"},
		{"renewed, nobody knows whether", "etcd", []op{a, unknownOp(renews("A", "gA", 900, 901)), after}, Holds, ""},
		{"renewal failed", "etcd", []op{a, failed(renews("A", "gA", 900, 901)), after}, Holds, ""},
		{"renewed with a shorter lease", "etcd", []op{a, lease(200, renews("A", "gA", 900, 901)), after}, Holds, ""},
		{"the lease begins before the acquire", "etcd", []op{leaseCall(0, lease(1000, acquires("A", "gA", 300, 301))), lease(1000, acquires("B", "gB", 1100, 1101))}, Holds, ""},
		{"a lock without a lease, released after", "etcd", []op{lease(0, acquires("A", "gA", 1, 2)), b, releases("A", "gA", 600, 601)}, Violated, "gB"},
		{"a lock without a lease or a release", "etcd", []op{lease(0, acquires("A", "gA", 1, 2)), b}, Holds, ""},
		{"a lock without a lease or a release, in flight", "etcd", []op{lease(0, acquires("A", "gA", 1, 600)), b}, Holds, ""},
		// A's lease lasts at least until 1001, whenever it began.
		{"B returned while A's was in flight and certain", "etcd", []op{lease(1000, acquires("A", "gA", 1, 1500)), lease(1000, acquires("B", "gB", 990, 1000))}, Violated, "gA"},
		{"B returned when A's may have ended", "etcd", []op{lease(1000, acquires("A", "gA", 1, 1500)), lease(1000, acquires("B", "gB", 990, 1001))}, Holds, ""},
		{"refused", "etcd", []op{a, as(history.Fail, b)}, Holds, ""},
		{"other resources have other locks", "etcd", []op{a, in("r01", b)}, Holds, ""},

		{"not ours any more, in the middle of the lease", "etcd", []op{a, lost(releases("A", "gA", 500, 501))}, Violated, "A-release-500"},
		{"a renewal finds the same", "etcd", []op{a, lost(renews("A", "gA", 500, 501))}, Violated, "A-renew-500"},
		{"not ours any more, after the lease", "etcd", []op{a, lost(releases("A", "gA", 1001, 1002))}, Holds, ""},
		{"answered at the lease's end", "etcd", []op{a, lost(releases("A", "gA", 990, 1001))}, Holds, ""},
		{"the second release finds nothing", "etcd", []op{a, releases("A", "gA", 400, 401), lost(releases("A", "gA", 500, 501))}, Holds, ""},
		{"the first may have been applied", "etcd", []op{a, unknownOp(releases("A", "gA", 400, 401)), lost(releases("A", "gA", 500, 501))}, Holds, ""},
		{"renewal failed, then gone", "etcd", []op{a, failed(renews("A", "gA", 900, 901)), lost(releases("A", "gA", 1500, 1501))}, Holds, ""},
		{"renewed, then gone", "etcd", []op{a, renews("A", "gA", 900, 901), lost(releases("A", "gA", 1500, 1501))}, Violated, "A-release-1500"},
	}
}

func leaseCall(call int64, o op) op { o.LeaseCall = call * ms; return o }

func (c leaseCase) history() *history.History {
	h := recorded(c.ops...)
	h.Header.LeaseBy = c.by
	return h
}

func TestLeaseExclusion(t *testing.T) {
	for _, c := range leaseCases() {
		t.Run(c.name, func(t *testing.T) {
			f := judged(t, c.history(), nil, Config{}).Findings[LeaseExclusion]
			got := f.Verdict
			if got == Vacuous {
				got = Holds
			}
			if got != c.want {
				t.Fatalf("%s, want %s: %v", f.Verdict, c.want, f.Examples)
			}
			if c.want == Violated && (f.Count != 1 || f.Examples[0].Culprit != c.first) {
				t.Errorf("%d violations, first %+v, want one, by %s", f.Count, f.Examples[0], c.first)
			}
		})
	}
}

// TestOneSidedLeaseRule: a mutant that asks only whether the later grant came
// before the end of the earlier one's lease must be told from the rule.
func TestOneSidedLeaseRule(t *testing.T) {
	oneSided := leaseExclusion{func(g, h *grant, gEnd, _ int64) bool { return h.ret >= gEnd }}
	var wrong []string
	for _, c := range leaseCases() {
		if c.want != Holds {
			continue
		}
		for _, e := range gather(c.history()) {
			if len(oneSided.overlaps(e, RedisSlack)) > 0 {
				wrong = append(wrong, c.name)
			}
		}
	}
	if !slices.Contains(wrong, "stopped between sending and reading") {
		t.Errorf("the one-sided rule errs in %q, so the main case shows nothing", wrong)
	}
}

func TestNoLockNoLease(t *testing.T) {
	f := judged(t, lockless(recorded(reads("A", 1, 2, "init"))), nil, Config{}).Findings[LeaseExclusion]
	if f.Verdict != NotApplicable {
		t.Errorf("lease-exclusion without a lock is %s", f.Verdict)
	}
}

// TestClockStep: Redis expires by the wall clock, so a step of it leaves
// nothing to say about a Redis lock, and nothing to doubt about another.
func TestClockStep(t *testing.T) {
	clock := func(offsets ...time.Duration) []history.Event {
		var out []history.Event
		for i, o := range offsets {
			out = append(out, history.Event{Type: history.TypeClock, Time: int64(i) * 1000 * ms, Offset: int64(time.Hour + o)})
		}
		return out
	}
	for _, c := range []struct {
		name string
		by   string
		at   []history.Event
		want Verdict
	}{
		{"steady", "redis", clock(0, 0, 0, 0), Violated},
		{"drifts", "redis", clock(0, 4*time.Millisecond, 8*time.Millisecond, 12*time.Millisecond), Violated},
		{"10 ms", "redis", clock(0, 0, 10*time.Millisecond, 10*time.Millisecond), Violated},
		{"forward", "redis", clock(0, 0, 11*time.Millisecond, 11*time.Millisecond), Undecided},
		{"back", "redis", clock(0, 0, -time.Second, -time.Second), Undecided},
		{"one sample taken around a pause", "redis", clock(0, 0, -2*time.Second, 0, 0), Violated},
		{"etcd does not care", "etcd", clock(0, 0, time.Second, time.Second), Violated},
	} {
		h := recorded(lease(1000, acquires("A", "gA", 1, 2)), lease(1000, acquires("B", "gB", 500, 501)))
		h.Header.LeaseBy, h.Events = c.by, c.at
		if f := judged(t, h, nil, Config{}).Findings[LeaseExclusion]; f.Verdict != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, f.Verdict, f.Reason, c.want)
		}
	}
}
