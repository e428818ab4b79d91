package checkers

import (
	"context"
	"testing"

	"github.com/torture-harness/torture/harness/history"
)

// situation is a history with the verdicts that it must get. Those that are
// not named are not looked at.
type situation struct {
	name    string
	why     string // what decides, in one sentence
	history *history.History
	journal []string             // write ids in the order of acceptance
	clients map[Property]Verdict // from what clients saw alone
	both    map[Property]Verdict // with the journal
	hidden  int                  // violations that only the journal shows
}

func all3(stale, fence, rmw Verdict) map[Property]Verdict {
	return map[Property]Verdict{Register: Holds, StaleOverwrite: stale, FenceOrder: fence, RMWAtomic: rmw}
}

const (
	h, v = Holds, Violated
)

// situations are the rows of the table of the four models.
func situations() []situation {
	a, b := acquires("A", "gA", 0, 1), acquires("B", "gB", 20, 21)
	readA, readB := reads("A", 2, 3, "init"), reads("B", 22, 23, "init")
	writeB := writes("B", "gB", "wB", "init", 24, 25)
	return []situation{
		{
			name: "late-write", why: "A read before its pause and wrote after B had written: B's change is lost.",
			history: recorded(a, readA, b, readB, writeB, writes("A", "gA", "wA", "init", 40, 41), observed(50, 51, "wA")),
			journal: []string{"wB", "wA"}, clients: all3(v, v, v), both: all3(v, v, v),
		},
		{
			name: "late-write-refused", why: "The same, and the store refused A.",
			history: recorded(a, readA, b, readB, writeB, rejected(writes("A", "gA", "wA", "init", 40, 41)), observed(50, 51, "wB")),
			journal: []string{"wB"}, clients: all3(h, h, h), both: all3(h, h, h),
		},
		{
			name: "41-before-42", why: "A is late but writes before B, which had read before: fencing allows it, A's update is lost.",
			history: recorded(a, readA, b, readB, writes("A", "gA", "wA", "init", 24, 25), writes("B", "gB", "wB", "init", 30, 31), observed(50, 51, "wB")),
			journal: []string{"wA", "wB"}, clients: all3(h, h, v), both: all3(h, h, v),
		},
		{
			name: "41-before-42-seen", why: "The same, and B reads after A's late write.",
			history: recorded(a, readA, b, writes("A", "gA", "wA", "init", 24, 25), reads("B", 26, 27, "wA"), writes("B", "gB", "wB", "wA", 30, 31), observed(50, 51, "wB")),
			journal: []string{"wA", "wB"}, clients: all3(h, h, h), both: all3(h, h, h),
		},
		{
			name: "late-reader", why: "A was stopped before reading: it writes late, on top of what B wrote. Only the order of the grants is broken.",
			history: recorded(a, b, readB, writeB, reads("A", 30, 31, "wB"), writes("A", "gA", "wA", "wB", 32, 33), observed(50, 51, "wA")),
			journal: []string{"wB", "wA"}, clients: all3(h, v, h), both: all3(h, v, h),
		},
		{
			name: "overlapping-grants", why: "Grants that overlap in time have no order, so neither is old; one update is lost all the same.",
			history: recorded(acquires("A", "gA", 0, 10), acquires("B", "gB", 5, 12), reads("A", 13, 14, "init"), reads("B", 13, 14, "init"),
				writes("B", "gB", "wB", "init", 15, 16), writes("A", "gA", "wA", "init", 17, 18), observed(50, 51, "wA")),
			journal: []string{"wB", "wA"}, clients: all3(h, h, v), both: all3(h, h, v),
		},
		{
			name: "unknown-seen", why: "A does not know whether its late write took effect; a later read shows that it did, after B's.",
			history: recorded(a, readA, b, readB, writeB, unknownOp(writes("A", "gA", "wA", "init", 26, 28)), observed(30, 31, "wB"), observed(50, 51, "wA")),
			journal: []string{"wB", "wA"}, clients: all3(v, v, v), both: all3(v, v, v),
		},
		{
			name: "unknown-never-seen", why: "A does not know whether its late write took effect, and it did not.",
			history: recorded(a, readA, b, readB, writeB, unknownOp(writes("A", "gA", "wA", "init", 26, 28)), observed(30, 31, "wB"), observed(50, 51, "wB")),
			journal: []string{"wB"}, clients: all3(h, h, h), both: all3(h, h, h),
		},
		{
			name: "hidden-in-flight", why: "A's write is in flight from before B's to after it. C read B's value before it landed and wrote over it, so nobody saw it; the journal did.",
			history: recorded(a, readA, writes("A", "gA", "wA", "init", 20, 60), acquires("B", "gB", 21, 22), reads("B", 23, 24, "init"), writes("B", "gB", "wB", "init", 30, 31),
				acquires("C", "gC", 35, 36), reads("C", 37, 38, "wB"), writes("C", "gC", "wC", "wB", 50, 51), observed(70, 71, "wC")),
			journal: []string{"wB", "wA", "wC"}, clients: all3(h, h, v), both: all3(v, v, v), hidden: 2,
		},
		{
			name: "wrong-token", why: "The older grant carries the larger token, so a store that compares tokens accepts its late write. The order of the grants shows it.",
			history: withTokens(recorded(token(2, a), readA, token(1, b), readB, writeB, writes("A", "gA", "wA", "init", 40, 41), observed(50, 51, "wA"))),
			journal: []string{"wB", "wA"}, clients: with(all3(v, v, v), TokenOrder, v), both: with(all3(v, v, v), TokenOrder, v),
		},
		{
			name: "no-lock-late-write", why: "Without a lock the read takes the place of the grant: A read before B and wrote after it.",
			history: lockless(recorded(reads("A", 2, 3, "init"), reads("B", 22, 23, "init"), writes("B", "", "wB", "init", 24, 25), writes("A", "", "wA", "init", 40, 41), observed(50, 51, "wA"))),
			journal: []string{"wB", "wA"}, clients: all3(v, v, v), both: all3(v, v, v),
		},
		{
			name: "no-lock-refused", why: "The same, and the version check refused A.",
			history: lockless(recorded(reads("A", 2, 3, "init"), reads("B", 22, 23, "init"), writes("B", "", "wB", "init", 24, 25), rejected(writes("A", "", "wA", "init", 40, 41)), observed(50, 51, "wB"))),
			journal: []string{"wB"}, clients: with(all3(h, h, h), LeaseExclusion, NotApplicable), both: with(all3(h, h, h), TokenOrder, NotApplicable),
		},
		{
			name: "stale-read", why: "A read returned a value after a newer one had been read: the store, or the recorder, is wrong, and nothing can be said about the rest.",
			history: recorded(a, readA, writes("A", "gA", "wA", "init", 4, 5), observed(6, 7, "wA"), observed(8, 9, "init")),
			journal: []string{"wA"},
			clients: map[Property]Verdict{Register: v, StaleOverwrite: Undecided, FenceOrder: Undecided, RMWAtomic: Undecided},
			both:    map[Property]Verdict{Register: v, StaleOverwrite: Undecided, FenceOrder: Undecided, RMWAtomic: Undecided},
		},
		{
			name: "lost-write", why: "An acknowledged write is neither in the journal nor ever read.",
			history: recorded(a, readA, writes("A", "gA", "wA", "init", 4, 5), observed(6, 7, "init")),
			journal: []string{},
			clients: map[Property]Verdict{Register: v, Durability: Undecided},
			both:    map[Property]Verdict{Register: v, Durability: v, StaleOverwrite: Undecided},
		},
	}
}

func with(m map[Property]Verdict, p Property, verdict Verdict) map[Property]Verdict {
	m[p] = verdict
	return m
}

func withTokens(h *history.History) *history.History { h.Header.Tokens = true; return h }
func lockless(h *history.History) *history.History   { h.Header.Locker = "none"; return h }

// verdicts are what Judge says; a vacuous property is one that holds without
// having been at risk, which these small histories are not about.
func verdicts(j Judgement, want map[Property]Verdict) map[Property]Verdict {
	got := map[Property]Verdict{}
	for p := range want {
		got[p] = j.Findings[p].Verdict
		if got[p] == Vacuous {
			got[p] = Holds
		}
	}
	return got
}

func compareVerdicts(t *testing.T, who string, j Judgement, want map[Property]Verdict) {
	t.Helper()
	got := verdicts(j, want)
	for p, verdict := range want {
		if got[p] != verdict {
			t.Errorf("%s: %s is %s (%s), want %s", who, p, got[p], j.Findings[p].Reason, verdict)
		}
	}
}

func TestSituations(t *testing.T) {
	for _, s := range situations() {
		t.Run(s.name, func(t *testing.T) {
			compareVerdicts(t, "clients", judged(t, s.history, nil, Config{}), s.clients)
			j := judged(t, s.history, accepted(s.history, s.journal...), Config{})
			compareVerdicts(t, "with the journal", j, s.both)
			if j.HiddenFromClients != s.hidden {
				t.Errorf("%d hidden from clients, want %d", j.HiddenFromClients, s.hidden)
			}
			if j.Status == Errored {
				t.Errorf("status error: %q", j.Reasons)
			}
		})
	}
}

func TestJudgeIsDeterministic(t *testing.T) {
	for _, s := range situations() {
		first := fingerprint(t, s)
		for range 5 {
			if again := fingerprint(t, s); again != first {
				t.Fatalf("%s: judged differently:\n%s\n%s", s.name, first, again)
			}
		}
	}
}

func TestJudgeStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Judge(ctx, recorded(), nil, Config{}); err == nil {
		t.Error("a cancelled judgement has no error")
	}
}
