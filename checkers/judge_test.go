package checkers

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

func TestStatusUnderAContract(t *testing.T) {
	byName := map[string]situation{}
	for _, s := range situations() {
		byName[s.name] = s
	}
	for _, c := range []struct {
		name      string
		situation string
		contract  Contract
		min       int
		want      Status
		reason    string
	}{
		{"nothing is promised", "late-write", nil, 1, Pass, ""},
		{"allowed", "late-write", Contract{StaleOverwrite: Allowed}, 1, Pass, ""},
		{"a promise is broken", "late-write", Contract{StaleOverwrite: Promised}, 1, Failed, "stale-overwrite is promised and was violated 1 times"},
		{"a promise is broken, however few exposures", "late-write", Contract{StaleOverwrite: Promised}, 20, Failed, "violated"},
		{"a promise is broken where clients cannot see it", "hidden-in-flight", Contract{FenceOrder: Promised}, 1, Failed, "fence-order"},
		{"a promise is kept", "late-write-refused", Contract{StaleOverwrite: Promised}, 1, Pass, ""},
		{"a promise is kept, too few exposures", "late-write-refused", Contract{StaleOverwrite: Promised}, 2, Inconclusive, "1 exposures, at least 2 are needed"},
		{"a promise is kept, no exposure", "41-before-42", Contract{StaleOverwrite: Promised}, 1, Inconclusive, "vacuous"},
		{"a prediction comes true", "late-write", Contract{StaleOverwrite: Predicted, RMWAtomic: Predicted}, 20, Pass, ""},
		{"a prediction does not come true", "late-write-refused", Contract{StaleOverwrite: Predicted}, 1, Inconclusive, "the harness was blind"},
		{"a violation wins over a vacuous promise", "41-before-42", Contract{StaleOverwrite: Promised, RMWAtomic: Promised}, 1, Failed, "rmw-atomic"},
		{"a promise that cannot apply", "no-lock-refused", Contract{LeaseExclusion: Promised, TokenOrder: Promised, StaleOverwrite: Promised}, 1, Pass, ""},
		{"the register fails and durability is promised", "stale-read", Contract{Durability: Promised, Register: Promised}, 1, Errored, "no store may lose data"},
		{"the register fails and a loss is allowed", "stale-read", Contract{Register: Promised}, 1, Failed, "register"},
		{"a promise that the register leaves open", "stale-read", Contract{StaleOverwrite: Promised}, 1, Inconclusive, "undecided: register"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := byName[c.situation]
			j := judged(t, s.history, accepted(s.history, s.journal...), Config{Contract: c.contract, MinExposures: c.min})
			if all := strings.Join(j.Reasons, "\n"); j.Status != c.want || !strings.Contains(all, c.reason) || (c.want == Pass) != (all == "") {
				t.Errorf("status %s, reasons %q, want %s with %q", j.Status, all, c.want, c.reason)
			}
		})
	}
}

// TestUnknownIsNoPass: without time to search, what the search-free checks
// leave open is undecided, and what they or the journal decide stays decided.
func TestUnknownIsNoPass(t *testing.T) {
	// A's first write and B's newer one overlap. A's second write demands that
	// A's first came last, A's first that it came first: no single pair of
	// operations shows it.
	hist := recorded(
		acquires("A", "gA", 2, 3), reads("A", 4, 5, "init"), acquires("B", "gB", 6, 7), reads("B", 7, 8, "init"),
		writes("A", "gA", "wA", "init", 9, 12), writes("B", "gB", "wB", "init", 9, 12),
		reads("A", 12, 14, "wA"), writes("A", "gA", "wA2", "wA", 15, 16))
	blind := staleOverwriteModel
	blind.decide = func([]*cluster) decision { return decision{} }
	find := func(budget time.Duration) Judgement {
		j, err := judge(t.Context(), hist, nil, Config{Budget: budget, MinExposures: 1, Contract: Contract{StaleOverwrite: Promised}}, []Checker{&registerModel, &blind})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	if f := find(time.Minute).Findings[StaleOverwrite]; f.Verdict != Violated || f.DecidedBy != byPorcupine || f.Count != 1 {
		t.Fatalf("with time to search: %+v", f)
	}
	j := find(time.Nanosecond)
	if f := j.Findings[StaleOverwrite]; f.Verdict != Undecided || f.Reason != "budget exceeded at r00" || j.Status != Inconclusive {
		t.Errorf("without time to search: %s, %+v", j.Status, f)
	}
	for _, s := range situations() {
		if s.name == "stale-read" || s.name == "lost-write" {
			continue
		}
		for p, want := range s.both {
			got := judged(t, s.history, accepted(s.history, s.journal...), Config{Budget: time.Nanosecond}).Findings[p]
			if want == Violated && got.Verdict != Violated {
				t.Errorf("%s: %s is %s without a search, want violated", s.name, p, got.Verdict)
			}
			if want == Holds && got.Verdict == Violated {
				t.Errorf("%s: %s is violated without a search, want holds", s.name, p)
			}
		}
	}
}

func TestInvalidHistoryIsAnError(t *testing.T) {
	hist := recorded(reads("A", 2, 3, "nothing"))
	j := judged(t, hist, nil, Config{Contract: Contract{Register: Promised}})
	if j.Status != Errored || len(j.Reasons) != 1 || !strings.HasPrefix(j.Reasons[0], "test:3: ") {
		t.Errorf("status %s, reasons %q", j.Status, j.Reasons)
	}
	for _, p := range Properties {
		if f := j.Findings[p]; f.Verdict != Undecided {
			t.Errorf("%s of a history that is not valid is %s", p, f.Verdict)
		}
	}
	var damage *history.Damage
	if !errors.As(hist.Validate(), &damage) || damage.Line != 3 {
		t.Errorf("damage: %v", hist.Validate())
	}
}

// TestImplications: the free test of every answer notices a breach.
func TestImplications(t *testing.T) {
	c := newCell(context.Background(), recorded(reads("A", 1, 2, "init")), nil, Config{})
	e := c.resources[0]
	for _, p := range []Property{Register, StaleOverwrite, FenceOrder, RMWAtomic} {
		c.answers[e][p] = [2]answer{legal, legal}
	}
	if got := c.implications(); len(got) != 0 {
		t.Errorf("all hold, and yet %q", got)
	}
	for p, want := range map[Property]int{StaleOverwrite: 2, Register: 1, FenceOrder: 0, RMWAtomic: 0} {
		before := c.answers[e][p]
		c.answers[e][p] = [2]answer{legal, illegal}
		if got := c.implications(); len(got) != want {
			t.Errorf("only %s is violated: %q, want %d breaches", p, got, want)
		}
		c.answers[e][p] = before
	}
}

func TestUnplannedStall(t *testing.T) {
	late := func() *history.History {
		hist := recorded(lease(1000, acquires("A", "gA", 1, 2)), reads("A", 3, 4, "init"),
			lease(1000, acquires("B", "gB", 1100, 1101)), reads("B", 1102, 1103, "init"), writes("B", "gB", "wB", "init", 1104, 1105),
			writes("A", "gA", "wA", "init", 1300, 1301))
		hist.Header.Fault = "none"
		return hist
	}
	stall := func(worker string, at, gap int64) history.Event {
		return history.Event{Type: history.TypeStall, Worker: worker, Time: at * ms, Gap: gap * ms}
	}
	promise := Config{Contract: Contract{StaleOverwrite: Promised, FenceOrder: Promised, RMWAtomic: Promised}}
	for _, c := range []struct {
		name   string
		fault  string
		events []history.Event
		want   Status
	}{
		{"no stall", "none", nil, Failed},
		{"its own stall", "none", []history.Event{stall("A", 1290, 1250)}, Inconclusive},
		{"two stalls together", "none", []history.Event{stall("A", 600, 500), stall("A", 1200, 500)}, Inconclusive},
		{"somebody else's stall", "none", []history.Event{stall("B", 1290, 1250)}, Failed},
		{"a stall before it", "none", []history.Event{stall("A", 0, 1250)}, Failed},
		{"a stall too short to matter", "none", []history.Event{stall("A", 1290, 120)}, Failed},
		{"a stall that was mostly after the write", "none", []history.Event{stall("A", 2000, 900)}, Failed},
		{"a stall under a fault", "pause-random", []history.Event{stall("A", 1290, 1250)}, Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			hist := late()
			hist.Header.Fault, hist.Events = c.fault, c.events
			j := judged(t, hist, accepted(hist, "wB", "wA"), promise)
			if j.Status != c.want {
				t.Errorf("status %s, want %s: %q", j.Status, c.want, j.Reasons)
			}
			if c.want == Inconclusive && !strings.Contains(strings.Join(j.Reasons, "\n"), "unplanned stall of 1.") {
				t.Errorf("reasons %q", j.Reasons)
			}
		})
	}
}

// TestSlowRequest: what hangs on its way, in the network or in a busy server,
// is as little planned as a process that does not run.
func TestSlowRequest(t *testing.T) {
	for _, c := range []struct {
		name       string
		call, ret  int64 // of A's write; its lease ends at 1001
		readReturn int64
		want       Status
	}{
		{"sent early, and it took long", 800, 1300, 4, Inconclusive},
		{"it would have been late anyway", 950, 1300, 4, Failed},
		{"the read took long", 1110, 1111, 1100, Inconclusive},
		{"both took no longer than usual", 1110, 1200, 100, Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			read := reads("A", 3, c.readReturn, "init")
			read.Grant = "gA"
			hist := recorded(lease(1000, acquires("A", "gA", 1, 2)), read,
				lease(1000, acquires("B", "gB", 1005, 1006)), reads("B", 1007, 1008, "init"), writes("B", "gB", "wB", "init", 1009, 1010),
				writes("A", "gA", "wA", "init", c.call, c.ret))
			hist.Header.Fault = "none"
			j := judged(t, hist, accepted(hist, "wB", "wA"), Config{Contract: Contract{StaleOverwrite: Promised, FenceOrder: Promised, RMWAtomic: Promised}})
			if j.Status != c.want {
				t.Errorf("status %s, want %s: %q", j.Status, c.want, j.Reasons)
			}
		})
	}
}

// TestNoStallExplainsTheLockLayer: two leases at once are two leases at once.
func TestNoStallExplainsTheLockLayer(t *testing.T) {
	hist := recorded(lease(1000, acquires("A", "gA", 1, 2)), reads("A", 3, 4, "init"),
		lease(1000, acquires("B", "gB", 500, 501)), writes("A", "gA", "wA", "init", 1300, 1301))
	hist.Header.Fault = "none"
	hist.Events = []history.Event{{Type: history.TypeStall, Worker: "A", Time: 1290 * ms, Gap: 1250 * ms}}
	if j := judged(t, hist, accepted(hist, "wA"), Config{Contract: Contract{LeaseExclusion: Promised}}); j.Status != Failed {
		t.Errorf("status %s: %q", j.Status, j.Reasons)
	}
}

func TestMeasures(t *testing.T) {
	hist := recorded(
		failed(attempt("B", 1000)), acquires("A", "gA", 500, 501), reads("A", 502, 503, "init"), writes("A", "gA", "wA", "init", 504, 505), releases("A", "gA", 1500, 1501),
		acquires("B", "gB", 1600, 1610), reads("B", 1611, 1612, "wA"), rejected(writes("B", "gB", "wB", "wA", 1613, 1614)), unknownOp(releases("B", "gB", 1615, 1616)),
		observed(1700, 1701, "wA"),
		acquires("A", "gA2", 2000, 2001), reads("A", 2002, 2003, "wA"), writes("A", "gA2", "wA2", "wA", 2500, 2500+0+1), observed(2600, 2601, "wA2"))
	hist.Warnings = []string{"torn"}
	j := judged(t, hist, nil, Config{})
	got := []int{j.Operations, j.Updates, j.Refused, j.Unknown, j.Pauses, len(j.Warnings)}
	for i, want := range []int{12, 2, 1, 1, 0, 1} {
		if got[i] != want {
			t.Errorf("measure %d is %d, want %d", i, got[i], want)
		}
	}
	if j.WaitP50 != ms || j.WaitP99 != 610*ms || j.FirstAnomaly < 0 {
		t.Errorf("waits %d, %d, first anomaly %d", j.WaitP50, j.WaitP99, j.FirstAnomaly)
	}
	if want := 2 / 2.001; j.Throughput < want-1e-9 || j.Throughput > want+1e-9 {
		t.Errorf("throughput %v, want %v", j.Throughput, want)
	}
}

func TestFirstAnomaly(t *testing.T) {
	for name, want := range map[string]int64{"late-write": 40 * ms, "late-write-refused": -1} {
		for _, s := range situations() {
			if s.name != name {
				continue
			}
			s.history.Header.Guard = "fenced"
			if j := judged(t, s.history, accepted(s.history, s.journal...), Config{}); j.FirstAnomaly != want {
				t.Errorf("%s: first anomaly at %d, want %d", name, j.FirstAnomaly, want)
			}
		}
	}
}

// TestExamplesAreWhole: an example names the operations that make a story.
func TestExamplesAreWhole(t *testing.T) {
	s := situations()[0]
	x := judged(t, s.history, accepted(s.history, s.journal...), Config{}).Findings[StaleOverwrite].Examples[0]
	text, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"resource":"r00","at":40000000,"culprit":"wA","operations":["gA","A-read-2","gB","wB","wA"],"text":"A/r00 wrote wA, computed from init, over wB of the newer grant gB, which it had not seen"}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

// TestDecidedBy: the journal decides first, then Porcupine, and without time to
// search the search-free checks.
func TestDecidedBy(t *testing.T) {
	for _, c := range []struct {
		situation string
		journal   bool
		budget    time.Duration
		want      string
	}{
		{"late-write", true, DefaultBudget, byJournal},
		{"late-write", false, DefaultBudget, byPorcupine},
		{"late-write", false, time.Nanosecond, bySearchFree},
		{"hidden-in-flight", true, DefaultBudget, byJournal},
		{"late-write-refused", true, DefaultBudget, byPorcupine},
		{"late-write-refused", false, time.Nanosecond, bySearchFree},
	} {
		for _, s := range situations() {
			if s.name != c.situation {
				continue
			}
			var entries []history.JournalEntry
			if c.journal {
				entries = accepted(s.history, s.journal...)
			}
			if f := judged(t, s.history, entries, Config{Budget: c.budget}).Findings[FenceOrder]; f.DecidedBy != c.want {
				t.Errorf("%s, journal %v, budget %v: %s decided by %q, want %q", c.situation, c.journal, c.budget, f.Verdict, f.DecidedBy, c.want)
			}
		}
	}
}

// TestNewestOfSeveral: the story names the newest grant that had written.
func TestNewestOfSeveral(t *testing.T) {
	hist := recorded(acquires("A", "gA", 0, 1), reads("A", 2, 3, "init"),
		acquires("B", "gB", 20, 21), reads("B", 22, 23, "init"), writes("B", "gB", "wB", "init", 24, 25), releases("B", "gB", 26, 27),
		acquires("C", "gC", 30, 31), reads("C", 32, 33, "wB"), writes("C", "gC", "wC", "wB", 34, 35), writes("A", "gA", "wA", "init", 40, 41))
	x := judged(t, hist, accepted(hist, "wB", "wC", "wA"), Config{}).Findings[FenceOrder].Examples[0]
	if want := "A/r00 wrote wA under gA after wC of the newer grant gC had been accepted"; x.Text != want {
		t.Errorf("got  %s\nwant %s", x.Text, want)
	}
}
