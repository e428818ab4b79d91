package checkers

import (
	"context"
	"strings"
	"testing"

	"github.com/torture-harness/torture/harness/history"
)

// TestJournalContradictions: what only a broken harness can produce must end
// in status error, whatever the contract promises.
func TestJournalContradictions(t *testing.T) {
	ops := []op{
		acquires("A", "gA", 0, 1), reads("A", 2, 3, "init"), writes("A", "gA", "wA", "init", 4, 5),
		acquires("B", "gB", 20, 21), reads("B", 22, 23, "wA"), writes("B", "gB", "wB", "wA", 24, 25), observed(50, 51, "wB"),
	}
	change := func(f func(j []history.JournalEntry) []history.JournalEntry) func(*history.History) []history.JournalEntry {
		return func(h *history.History) []history.JournalEntry { return f(accepted(h, "wA", "wB")) }
	}
	for _, c := range []struct {
		name    string
		ops     []op
		journal func(*history.History) []history.JournalEntry
		want    string // part of a reason; "" for no error
	}{
		{"sound", ops, change(func(j []history.JournalEntry) []history.JournalEntry { return j }), ""},
		{"an acknowledged write is missing", ops, change(func(j []history.JournalEntry) []history.JournalEntry { return j[1:] }), "missing from the journal"},
		{"nobody invoked it", ops, change(func(j []history.JournalEntry) []history.JournalEntry {
			return append(j, history.JournalEntry{Seq: 3, Resource: "r00", WriteID: "ghost", Basis: "wB"})
		}), "nobody invoked"},
		{"an unknown resource", ops, change(func(j []history.JournalEntry) []history.JournalEntry {
			return append(j, history.JournalEntry{Seq: 3, Resource: "r99", WriteID: "wB", Basis: "wA"})
		}), "does not know"},
		{"another basis", ops, change(func(j []history.JournalEntry) []history.JournalEntry { j[1].Basis = "init"; return j }), "its client recorded"},
		{"another grant", ops, change(func(j []history.JournalEntry) []history.JournalEntry { j[1].Grant = "gA"; return j }), "its client recorded"},
		{"against the order that clients saw", ops, change(func(j []history.JournalEntry) []history.JournalEntry { return []history.JournalEntry{j[1], j[0]} }), "register"},
		{"applied twice", ops, change(func(j []history.JournalEntry) []history.JournalEntry { return append(j, j[0]) }), "register"},
		{
			"accepted although refused", append(ops[:6:6], rejected(writes("A", "gA", "wC", "init", 30, 31)), observed(50, 51, "wB")),
			func(h *history.History) []history.JournalEntry { return accepted(h, "wA", "wB", "wC") }, "takes for rejected",
		},
		{
			"accepted although failed", append(ops[:6:6], failed(writes("A", "gA", "wC", "init", 30, 31)), observed(50, 51, "wB")),
			func(h *history.History) []history.JournalEntry { return accepted(h, "wA", "wB", "wC") }, "takes for fail",
		},
		{
			"an unknown write was seen and is not there", append(ops[:6:6], reads("A", 26, 27, "wB"), unknownOp(writes("A", "gA", "wC", "wB", 30, 31)), observed(50, 51, "wC")),
			func(h *history.History) []history.JournalEntry { return accepted(h, "wA", "wB") }, "which the journal lacks",
		},
		{
			"an unknown write is there and was not seen", append(ops[:6:6], reads("A", 26, 27, "wB"), unknownOp(writes("A", "gA", "wC", "wB", 30, 31))),
			func(h *history.History) []history.JournalEntry { return accepted(h, "wA", "wB", "wC") }, "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			hist := recorded(c.ops...)
			j := judged(t, hist, c.journal(hist), Config{Contract: Contract{Durability: Promised}})
			all := strings.Join(j.Reasons, "\n")
			if c.want == "" {
				if j.Status == Errored {
					t.Errorf("status error: %s", all)
				}
				return
			}
			if j.Status != Errored || !strings.Contains(all, c.want) {
				t.Errorf("status %s, reasons %q, want an error with %q", j.Status, all, c.want)
			}
		})
	}
}

// TestJournalCleanAndClientsNot: clients cannot see what did not happen.
func TestJournalCleanAndClientsNot(t *testing.T) {
	hist := recorded(acquires("A", "gA", 0, 1), reads("A", 2, 3, "init"), writes("A", "gA", "wA", "init", 4, 5))
	c := newCell(context.Background(), hist, accepted(hist, "wA"), Config{Budget: DefaultBudget})
	o := outcome{verdict: Holds}
	fenceOrderModel.settle(c, c.resources[0], &o, reading{answer: legal, by: byJournal}, reading{answer: illegal, by: byPorcupine})
	if o.verdict != Undecided || len(o.errors) != 1 {
		t.Errorf("verdict %s, errors %q", o.verdict, o.errors)
	}
}

// TestSearchFreeAndPorcupineDisagree is an error of the harness too.
func TestSearchFreeAndPorcupineDisagree(t *testing.T) {
	wrong := *modelOf(RMWAtomic)
	wrong.decide = func(cs []*cluster) decision {
		return decision{answer: illegal, found: []violation{{w: cs[1].w, because: cs}}}
	}
	hist := recorded(acquires("A", "gA", 0, 1), reads("A", 2, 3, "init"), writes("A", "gA", "wA", "init", 4, 5))
	c := newCell(context.Background(), hist, nil, Config{Budget: DefaultBudget})
	if o := wrong.Check(c); o.verdict != Undecided || len(o.errors) != 1 || o.reason != "two checks disagree about r00" {
		t.Errorf("verdict %s (%s), errors %q", o.verdict, o.reason, o.errors)
	}
}

// TestLossAllowed: where a loss is allowed, it is a violation and no error.
func TestLossAllowed(t *testing.T) {
	hist := recorded(acquires("A", "gA", 0, 1), reads("A", 2, 3, "init"), writes("A", "gA", "wA", "init", 4, 5), observed(6, 7, "wA"), observed(8, 9, "init"))
	j := judged(t, hist, accepted(hist), Config{Contract: Contract{Durability: Predicted, Register: Predicted}})
	if j.Status != Pass || j.Findings[Durability].Verdict != Violated || j.Findings[Register].Verdict != Violated {
		t.Errorf("status %s %q, durability %s, register %s", j.Status, j.Reasons, j.Findings[Durability].Verdict, j.Findings[Register].Verdict)
	}
}
