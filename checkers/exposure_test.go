package checkers

import (
	"testing"

	"github.com/torture-harness/torture/harness/history"
)

// TestExposures counts what was at risk, whether or not it went wrong.
func TestExposures(t *testing.T) {
	a, b := acquires("A", "gA", 0, 1), acquires("B", "gB", 20, 21)
	readA, readB := reads("A", 2, 3, "init"), reads("B", 22, 23, "init")
	writeB := writes("B", "gB", "wB", "init", 24, 25)
	late := writes("A", "gA", "wA", "init", 40, 41)
	for _, c := range []struct {
		name         string
		ops          []op
		stale, fence int
	}{
		{"late and accepted", []op{a, readA, b, readB, writeB, late}, 1, 1},
		{"late and refused", []op{a, readA, b, readB, writeB, rejected(late)}, 1, 1},
		{"late and unknown", []op{a, readA, b, readB, writeB, unknownOp(late)}, 1, 1},
		{"late and never sent", []op{a, readA, b, readB, writeB, failed(late)}, 0, 0},
		{"the newer write was refused", []op{a, readA, b, readB, rejected(writeB), late}, 0, 0},
		{"the newer write was unknown and never seen", []op{a, readA, b, readB, unknownOp(writeB), late}, 0, 0},
		{"the newer write was unknown and seen before", []op{a, readA, b, readB, unknownOp(writeB), observed(30, 31, "wB"), late}, 1, 1},
		{"the newer write was seen only later", []op{a, readA, b, readB, unknownOp(writeB), late, observed(50, 51, "wB")}, 0, 0}, // it may have come after A's
		{"the newer write comes later", []op{a, readA, b, readB, late, writes("B", "gB", "wB", "init", 50, 51)}, 0, 0},
		{"read late, on top of the newer write", []op{a, b, readB, writeB, reads("A", 30, 31, "wB"), writes("A", "gA", "wA", "wB", 40, 41)}, 0, 1},
		{"read before two newer writes", []op{a, b, readB, writeB, reads("A", 30, 31, "wB"), reads("B", 32, 33, "wB"), writes("B", "gB", "wB2", "wB", 34, 35), rejected(writes("A", "gA", "wA", "wB", 40, 41))}, 1, 1},
		{"the newer write was answered while it was under way", []op{a, readA, b, readB, writes("B", "gB", "wB", "init", 41, 45), rejected(writes("A", "gA", "wA", "init", 40, 60))}, 0, 0},
		{"overlapping grants", []op{acquires("A", "gA", 0, 21), reads("A", 22, 23, "init"), b, readB, writeB, rejected(late)}, 0, 0},
		{"touching grants", []op{acquires("A", "gA", 0, 20), reads("A", 22, 23, "init"), b, readB, writeB, rejected(late)}, 0, 0},
		{"the newest holder writes twice", []op{a, readA, b, readB, writeB, reads("B", 30, 31, "wB"), writes("B", "gB", "wB2", "wB", 32, 33)}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			hist := recorded(c.ops...)
			paused(hist, "p1", "A", "P3", 5, 35)
			j := judged(t, hist, nil, Config{})
			for p, want := range map[Property]int{StaleOverwrite: c.stale, FenceOrder: c.fence} {
				f := j.Findings[p]
				if f.Exposures != want || f.Pauses != min(want, 1) {
					t.Errorf("%s: %d exposures in %d pauses, want %d", p, f.Exposures, f.Pauses, want)
				}
				if f.Verdict == Violated && f.PausesHit != 1 {
					t.Errorf("%s: violated in %d pauses, want 1", p, f.PausesHit)
				}
			}
		})
	}
}

// TestLostUpdateOfTheStopped: A is stopped, B reads, A goes on and writes, B
// writes over it. B's write is the culprit, A's pause the cause.
func TestLostUpdateOfTheStopped(t *testing.T) {
	hist := recorded(acquires("A", "gA", 0, 1), reads("A", 2, 3, "init"), acquires("B", "gB", 20, 21), reads("B", 22, 23, "init"),
		writes("A", "gA", "wA", "init", 36, 37), writes("B", "gB", "wB", "init", 40, 41))
	paused(hist, "p1", "A", "P3", 5, 35)
	f := judged(t, hist, accepted(hist, "wA", "wB"), Config{}).Findings[RMWAtomic]
	if f.Count != 1 || f.Examples[0].Culprit != "wB" || f.PausesHit != 1 {
		t.Errorf("%d violations in %d pauses, %v", f.Count, f.PausesHit, f.Examples)
	}
}

// TestEveryPlainExposureIsViolated: an exposure of stale-overwrite that is
// accepted is a violation, so with a plain store the two counts are equal.
func TestEveryPlainExposureIsViolated(t *testing.T) {
	for _, s := range situations() {
		j := judged(t, s.history, accepted(s.history, s.journal...), Config{})
		f := j.Findings[StaleOverwrite]
		refused := 0
		for _, o := range s.history.Operations {
			if o.Kind == history.Write && o.Outcome != history.OK {
				refused++
			}
		}
		if f.Verdict != Undecided && f.Count+refused < f.Exposures {
			t.Errorf("%s: %d violations and %d refusals in %d exposures", s.name, f.Count, refused, f.Exposures)
		}
	}
}

func TestHandovers(t *testing.T) {
	rel := func(client, grant string, at int64) op { return releases(client, grant, at, at+1) }
	try := func(client string, at int64) op { return failed(attempt(client, at)) }
	for _, c := range []struct {
		name   string
		ops    []op
		events []history.Event
		want   int
	}{
		{"B tried while A held it", []op{acquires("A", "gA", 0, 1), try("B", 5), rel("A", "gA", 10), acquires("B", "gB", 15, 16)}, nil, 1},
		{"B came later", []op{acquires("A", "gA", 0, 1), rel("A", "gA", 10), acquires("B", "gB", 15, 16)}, nil, 0},
		{"B had said that it wants it", []op{acquires("A", "gA", 0, 1), rel("A", "gA", 10), acquires("B", "gB", 15, 16)}, []history.Event{{Type: history.TypeWant, Time: 5 * ms, Worker: "B", Client: "B/r00", Resource: "r00"}}, 1},
		{"B tried before the release was answered", []op{acquires("A", "gA", 0, 1), releases("A", "gA", 5, 20), try("B", 15), acquires("B", "gB", 25, 26)}, nil, 1},
		{"B tried after a release that nobody answered", []op{acquires("A", "gA", 0, 1), unknownOp(releases("A", "gA", 5, 20)), try("B", 15), acquires("B", "gB", 25, 26)}, nil, 0},
		{"A takes it twice", []op{acquires("A", "gA", 0, 1), rel("A", "gA", 10), acquires("A", "gA2", 15, 16)}, nil, 0},
		{"A's lease ends", []op{lease(10, acquires("A", "gA", 0, 1)), try("B", 5), acquires("B", "gB", 15, 16)}, nil, 1},
		{"three in turn", []op{acquires("A", "gA", 0, 1), try("B", 2), try("C", 3), rel("A", "gA", 10), acquires("B", "gB", 15, 16), rel("B", "gB", 20), acquires("C", "gC", 25, 26)}, nil, 2},
	} {
		hist := recorded(c.ops...)
		hist.Events = c.events
		if f := judged(t, hist, nil, Config{}).Findings[LeaseExclusion]; f.Exposures != c.want {
			t.Errorf("%s: %d handovers, want %d", c.name, f.Exposures, c.want)
		}
	}
	// Without a lock updates that overlap are the contention.
	for _, c := range []struct {
		name string
		ops  []op
		want int
	}{
		{"apart", []op{reads("A", 0, 1, "init"), writes("A", "", "wA", "init", 2, 3), reads("B", 10, 11, "wA"), writes("B", "", "wB", "wA", 12, 13)}, 0},
		{"read while the other wrote", []op{reads("A", 0, 1, "init"), writes("A", "", "wA", "init", 2, 5), reads("B", 4, 6, "wA"), writes("B", "", "wB", "wA", 12, 13)}, 1},
		{"overlapping", []op{reads("A", 0, 1, "init"), reads("B", 0, 1, "init"), writes("A", "", "wA", "init", 2, 3), rejected(writes("B", "", "wB", "init", 12, 13))}, 1},
	} {
		if f := judged(t, lockless(recorded(c.ops...)), nil, Config{}).Findings[RMWAtomic]; f.Exposures != c.want {
			t.Errorf("without a lock, %s: %d, want %d", c.name, f.Exposures, c.want)
		}
	}
}

// TestCalmExposures: where nobody is stopped, handovers are what was risked.
func TestCalmExposures(t *testing.T) {
	hist := recorded(acquires("A", "gA", 0, 1), failed(attempt("B", 2)), reads("A", 2, 3, "init"), writes("A", "gA", "wA", "init", 4, 5), releases("A", "gA", 6, 7), acquires("B", "gB", 10, 11))
	for fault, want := range map[string]int{"none": 1, "kill-worker": 1, "pause-random": 0} {
		hist.Header.Fault = fault
		j := judged(t, hist, nil, Config{})
		for _, p := range []Property{StaleOverwrite, FenceOrder} {
			if f := j.Findings[p]; f.Exposures != want {
				t.Errorf("%s under %s: %d exposures, want %d", p, fault, f.Exposures, want)
			}
		}
	}
}

// TestOverlappingGrants: a locker whose acquire covers its waiting makes all
// grants overlap, and the two properties that order grants blind.
func TestOverlappingGrants(t *testing.T) {
	var ops []op
	for i := range int64(30) { // each acquire is called before the one before it has returned
		client, grant := string("AB"[i%2]), "g"+itoa(i)
		ops = append(ops, acquires(client, grant, i*10, i*10+12), releases(client, grant, i*10+13, i*10+14))
	}
	hist := recorded(ops...)
	j := judged(t, hist, nil, Config{})
	for _, p := range []Property{StaleOverwrite, FenceOrder} {
		if f := j.Findings[p]; f.Verdict != Undecided {
			t.Errorf("%s is %s (%s), want undecided", p, f.Verdict, f.Reason)
		}
	}
	if f := j.Findings[RMWAtomic]; f.Verdict == Undecided {
		t.Errorf("rmw-atomic does not order grants and is %s", f.Verdict)
	}
}

// TestStoppedWhileAcquiring: acquisitions that were late because their own
// worker was stopped do not make a locker blind.
func TestStoppedWhileAcquiring(t *testing.T) {
	var ops []op
	var pauses []history.FaultEvent
	for i := range int64(30) {
		client, grant := string("AB"[i%2]), "g"+itoa(i)
		ops = append(ops, acquires(client, grant, i*10, i*10+12), releases(client, grant, i*10+13, i*10+14))
		id := "p" + itoa(i)
		pauses = append(pauses,
			history.FaultEvent{Time: (i*10 + 1) * ms, Fault: history.Fault{ID: id, Kind: "pause-random", Phase: history.Stopped, Victim: client}},
			history.FaultEvent{Time: (i*10 + 11) * ms, Fault: history.Fault{ID: id, Kind: "pause-random", Phase: history.Resumed, Victim: client}})
	}
	hist := recorded(ops...)
	hist.Faults = pauses
	hist.Header.Fault = "pause-random"
	j := judged(t, hist, nil, Config{})
	for _, p := range []Property{StaleOverwrite, FenceOrder} {
		if f := j.Findings[p]; f.Verdict == Undecided {
			t.Errorf("%s is undecided: %s", p, f.Reason)
		}
	}
}
