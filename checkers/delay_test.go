package checkers

import (
	"testing"

	"github.com/torture-harness/torture/harness/history"
)

// delayed adds a delay of A's write of r00, which is proven by so many bytes.
func delayed(h *history.History, from, to int64, bytes int) *history.History {
	h.Header.Fault = "delay-write"
	f := history.Fault{ID: "d1", Kind: "delay-write", Victim: "A", Point: "P5", Bytes: map[string]int{"r00": bytes}}
	held, released := f, f
	held.Phase, released.Phase = history.Held, history.Released
	h.Faults = append(h.Faults,
		history.FaultEvent{Fault: held, Time: from * ms},
		history.FaultEvent{Fault: released, Time: to * ms})
	return h
}

// TestDelayedExposures: a write that is held in the network is as late as the
// moment in which it is let go, although it was called while the lease lasted.
func TestDelayedExposures(t *testing.T) {
	a, readA := acquires("A", "gA", 0, 1), reads("A", 2, 3, "init")
	b, readB := acquires("B", "gB", 20, 21), reads("B", 22, 23, "init")
	writeB := writes("B", "gB", "wB", "init", 24, 25)
	late := writes("A", "gA", "wA", "init", 4, 41)
	for _, c := range []struct {
		name     string
		ops      []op
		from, to int64
		bytes    int
		want     int // exposures
		landed   int
		journal  []string
		count    int // stale overwrites
	}{
		{"held until B had written", []op{a, readA, late, b, readB, writeB}, 5, 40, 9, 1, 1, []string{"wB", "wA"}, 1},
		{"and refused", []op{a, readA, rejected(late), b, readB, writeB}, 5, 40, 9, 1, 1, []string{"wB"}, 0},
		{"and unknown", []op{a, readA, unknownOp(late), b, readB, writeB, observed(50, 51, "wB")}, 5, 40, 9, 1, 1, []string{"wB"}, 0},
		{"nothing proves it", []op{a, readA, late, b, readB, writeB}, 5, 40, 0, 0, 0, []string{"wA", "wB"}, 0},
		{"let go before B had written", []op{a, readA, late, b, readB, writeB}, 5, 23, 9, 0, 1, []string{"wA", "wB"}, 0},
		{"let go before B had the lock", []op{a, readA, late, b, readB, writeB}, 5, 20, 9, 0, 0, []string{"wA", "wB"}, 0},
		{"sent when others were held", []op{a, readA, late, b, readB, writeB}, 3, 40, 9, 0, 0, []string{"wA", "wB"}, 0},
		{"answered while others were held", []op{a, readA, writes("A", "gA", "wA", "init", 4, 30), b, readB, writeB}, 5, 40, 9, 0, 0, []string{"wA", "wB"}, 0},
		{"B's was refused", []op{a, readA, late, b, readB, rejected(writeB)}, 5, 40, 9, 0, 1, []string{"wA"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			hist := delayed(recorded(c.ops...), c.from, c.to, c.bytes)
			j := judged(t, hist, accepted(hist, c.journal...), Config{})
			for _, p := range []Property{StaleOverwrite, FenceOrder} {
				f := j.Findings[p]
				if want := max(c.want, c.count); f.Exposures != want || f.Pauses != min(want, 1) || f.Count != c.count || f.PausesHit != c.count {
					t.Errorf("%s: %d of %d exposures in %d of %d delays, want %d of %d", p, f.Count, f.Exposures, f.PausesHit, f.Pauses, c.count, want)
				}
			}
			if j.Pauses != 1 || j.PausesLanded != c.landed {
				t.Errorf("%d of %d delays landed, want %d", j.PausesLanded, j.Pauses, c.landed)
			}
			if j.Status == Errored {
				t.Errorf("status error: %q", j.Reasons)
			}
		})
	}
}

// TestHeldUnderDelayIsNoExcuse: a worker whose writes are held still runs, so
// its acquisitions that overlap others say something about the locker.
func TestHeldUnderDelayIsNoExcuse(t *testing.T) {
	var ops []op
	for i := range int64(30) {
		client, grant := string("AB"[i%2]), "g"+itoa(i)
		ops = append(ops, acquires(client, grant, i*10, i*10+12), releases(client, grant, i*10+13, i*10+14))
	}
	hist := delayed(recorded(ops...), 1, 1000, 9)
	if f := judged(t, hist, nil, Config{}).Findings[FenceOrder]; f.Verdict != Undecided {
		t.Errorf("fence-order is %s (%s), want undecided", f.Verdict, f.Reason)
	}
}

// stoppedServer adds the stop of a server.
func stoppedServer(h *history.History, server string, from, to int64) *history.History {
	h.Header.Fault = "pause-server"
	f := history.Fault{ID: "s1", Kind: "pause-server", Victim: server}
	stopped, resumed, healed := f, f, f
	stopped.Phase, resumed.Phase, healed.Phase = history.Stopped, history.Resumed, history.Healed
	h.Faults = append(h.Faults,
		history.FaultEvent{Fault: stopped, Time: from * ms},
		history.FaultEvent{Fault: resumed, Time: to * ms},
		history.FaultEvent{Fault: healed, Time: (to + 1) * ms})
	return h
}

// TestPauseServerExposures: no client is stopped, so what is at risk is each
// handover, of those in which a server that was stopped can have had a hand.
func TestPauseServerExposures(t *testing.T) {
	ops := []op{acquires("A", "gA", 0, 1), failed(attempt("B", 2)), reads("A", 2, 3, "init"), writes("A", "gA", "wA", "init", 4, 5), releases("A", "gA", 6, 7), acquires("B", "gB", 10, 21)}
	for _, c := range []struct {
		name     string
		server   string
		from, to int64
		want     int
		landed   int
	}{
		{"Redis during the handover", "redis-1", 8, 20, 1, 1},
		{"PostgreSQL, which nobody asked then", "postgres", 8, 20, 1, 0},
		{"PostgreSQL during the write", "postgres", 4, 6, 1, 1},
		{"before it", "redis-1", -3, -1, 0, 0},
		{"after it", "redis-1", 30, 40, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			hist := stoppedServer(recorded(ops...), c.server, c.from+10, c.to+10)
			for i := range hist.Operations {
				o := &hist.Operations[i]
				o.Call, o.Return, o.LeaseCall = o.Call+10*ms, o.Return+10*ms, o.LeaseCall+10*ms
			}
			j := judged(t, hist, nil, Config{})
			for _, p := range []Property{StaleOverwrite, FenceOrder} {
				if f := j.Findings[p]; f.Exposures != c.want {
					t.Errorf("%s: %d exposures, want %d", p, f.Exposures, c.want)
				}
			}
			if f := j.Findings[LeaseExclusion]; f.Exposures != 1 {
				t.Errorf("lease-exclusion: %d exposures, want every handover", f.Exposures)
			}
			if j.PausesLanded != c.landed {
				t.Errorf("%d pauses landed, want %d", j.PausesLanded, c.landed)
			}
		})
	}
}

// TestProgressCountsFromTheHealing: a lock that nobody gets while its server is
// stopped is not untakeable; one that nobody gets afterwards is.
func TestProgressCountsFromTheHealing(t *testing.T) {
	wanted := func(until int64) *history.History {
		hist := recorded(acquires("A", "gA", 0, 1), releases("A", "gA", 2, 3), failed(acquires("B", "B-try", 10, until)))
		hist.Header.TTL = 10 * ms // untakeable after 50
		return hist
	}
	if f := judged(t, stoppedServer(wanted(140), "redis-1", 5, 100), nil, Config{}).Findings[Progress]; f.Verdict == Violated {
		t.Errorf("wanted for 40 ms since the healing: %s, %v", f.Verdict, f.Examples)
	}
	if f := judged(t, stoppedServer(wanted(160), "redis-1", 5, 100), nil, Config{}).Findings[Progress]; f.Verdict != Violated {
		t.Errorf("wanted for 59 ms since the healing: %s", f.Verdict)
	}
}
