package checkers

import (
	"testing"

	"github.com/torture-harness/torture/harness/history"
)

// TestRefusals: what each guard may refuse, and what it may not.
func TestRefusals(t *testing.T) {
	a, b := acquires("A", "gA", 0, 1), acquires("B", "gB", 20, 21)
	readA, readB := reads("A", 2, 3, "init"), reads("B", 22, 23, "init")
	refusedA := rejected(writes("A", "gA", "wA", "init", 40, 41))
	writeB := writes("B", "gB", "wB", "init", 24, 25)
	for _, c := range []struct {
		name, guard string
		ops         []op
		want        Verdict
	}{
		{"a newer grant wrote", "fenced", []op{a, readA, b, readB, writeB, refusedA}, Holds},
		{"nobody wrote", "fenced", []op{a, readA, b, readB, refusedA}, Violated},
		{"a newer grant's write is unknown", "fenced", []op{a, readA, b, readB, unknownOp(writeB), refusedA}, Holds},
		{"a newer grant's write failed", "fenced", []op{a, readA, b, readB, failed(writeB), refusedA}, Violated},
		{"a newer grant's write was refused", "fenced", []op{a, readA, b, readB, rejected(writeB), refusedA}, Violated},
		{"a newer grant writes at the same time", "fenced", []op{a, readA, b, readB, writes("B", "gB", "wB", "init", 40, 45), refusedA}, Holds},
		{"a newer grant writes too late", "fenced", []op{a, readA, b, readB, refusedA, writes("B", "gB", "wB", "init", 41, 45)}, Violated},
		{"only an older grant wrote", "fenced", []op{a, readA, writes("A", "gA", "wA", "init", 4, 5), b, reads("B", 22, 23, "wA"), rejected(writes("B", "gB", "wB", "wA", 24, 25))}, Violated},
		{"an overlapping grant wrote", "fenced", []op{acquires("A", "gA", 0, 20), reads("A", 21, 22, "init"), acquires("B", "gB", 15, 21), readB, writeB, refusedA}, Holds},
		{"its second commit", "fenced", []op{a, readA, writes("A", "gA", "wA", "init", 4, 5), reads("A", 6, 7, "wA"), rejected(writes("A", "gA", "wA2", "wA", 8, 9))}, Holds},
		{"another resource was written", "fenced", []op{a, readA, in("r01", b), in("r01", readB), in("r01", writeB), refusedA}, Violated},

		{"a newer grant claimed", "claim", []op{a, claims("A", "gA", 2, 3, "init"), b, claims("B", "gB", 22, 23, "init"), refusedA}, Holds},
		{"a newer grant's claim is unknown", "claim", []op{a, claims("A", "gA", 2, 3, "init"), b, unknownOp(claims("B", "gB", 22, 23, "init")), refusedA}, Holds},
		{"a newer grant's claim was refused", "claim", []op{a, claims("A", "gA", 2, 3, "init"), b, rejected(claims("B", "gB", 22, 23, "init")), rejected(writes("A", "gA", "wA", "init", 40, 41))}, Violated},
		{"nobody claimed", "claim", []op{a, claims("A", "gA", 2, 3, "init"), b, refusedA}, Violated},
		{"second write of one claim", "claim", []op{a, claims("A", "gA", 2, 3, "init"), writes("A", "gA", "wA", "init", 4, 5), reads("A", 6, 7, "wA"), rejected(writes("A", "gA", "wA2", "wA", 8, 9))}, Violated},
		{"second claim of one grant", "claim", []op{a, claims("A", "gA", 2, 3, "init"), rejected(claims("A", "gA", 4, 5, "init"))}, Holds},
		{"claim after a newer one", "claim", []op{a, b, claims("B", "gB", 22, 23, "init"), rejected(claims("A", "gA", 30, 31, "init"))}, Holds},
		{"first claim", "claim", []op{a, rejected(claims("A", "gA", 2, 3, "init"))}, Violated},

		{"somebody wrote since", "version", []op{readA, readB, writes("B", "", "wB", "init", 24, 25), rejected(writes("A", "", "wA", "init", 40, 41))}, Holds},
		{"nobody wrote since", "version", []op{readA, rejected(writes("A", "", "wA", "init", 40, 41))}, Violated},
		{"somebody wrote before", "version", []op{readB, writes("B", "", "wB", "init", 24, 25), reads("A", 30, 31, "wB"), rejected(writes("A", "", "wA", "wB", 40, 41))}, Violated},
		{"somebody's unknown write", "version", []op{readA, readB, unknownOp(writes("B", "", "wB", "init", 24, 25)), rejected(writes("A", "", "wA", "init", 40, 41))}, Holds},

		{"somebody writes while it is refused", "version", []op{readA, readB, writes("B", "", "wB", "init", 41, 50), rejected(writes("A", "", "wA", "init", 40, 45))}, Holds},
		{"somebody writes after it was refused", "version", []op{readA, readB, rejected(writes("A", "", "wA", "init", 40, 45)), writes("B", "", "wB", "init", 46, 50)}, Violated},
		{"somebody wrote while it read", "version", []op{readB, writes("B", "", "wB", "init", 24, 30), reads("A", 29, 35, "init"), rejected(writes("A", "", "wA", "init", 40, 41))}, Holds},

		{"a plain UPDATE refuses nothing", "plain", []op{a, readA, b, readB, writeB, refusedA}, Violated},
		{"nobody knows this guard", "homemade", []op{a, readA, b, readB, writeB, refusedA}, Undecided},
	} {
		t.Run(c.guard+": "+c.name, func(t *testing.T) {
			hist := recorded(c.ops...)
			hist.Header.Guard = c.guard
			if c.guard == "version" {
				lockless(hist)
			}
			if f := judged(t, hist, nil, Config{}).Findings[Progress]; f.Verdict != c.want {
				t.Errorf("%s (%s), want %s: %v", f.Verdict, f.Reason, c.want, f.Examples)
			}
		})
	}
}

// TestKilledByFault: a worker that the nemesis killed is dead too, whether its
// supervisor says so or not.
func TestKilledByFault(t *testing.T) {
	ops := []op{acquires("A", "gA", 1, 2)}
	for at := int64(1000); at < 9000; at += 1000 {
		r := by("R#1", renews("A", "gA", at, at+1))
		r.Worker = "R"
		ops = append(ops, r, failed(attempt("B", at+100)), failed(attempt("B", at+600)))
	}
	hist := recorded(ops...)
	if f := judged(t, hist, nil, Config{}).Findings[Progress]; f.Verdict == Violated {
		t.Fatalf("a holder whose lease is renewed may keep it: %v", f.Examples)
	}
	hist.Faults = append(hist.Faults, history.FaultEvent{Fault: history.Fault{ID: "kill-1", Kind: "kill", Phase: history.Killed, Victim: "A"}, Time: 1500 * ms})
	if f := judged(t, hist, nil, Config{}).Findings[Progress]; f.Verdict != Violated {
		t.Errorf("%s, want violated: nobody holds the lock", f.Verdict)
	}
}

// TestStarvation: TTL is 1000 ms, so 5000 ms of wanting in vain are too many.
func TestStarvation(t *testing.T) {
	poll := func(client string, from, to, every int64) []op {
		var out []op
		for at := from; at < to; at += every {
			out = append(out, failed(attempt(client, at)))
		}
		return out
	}
	want := func(client string, t history.Type, at int64) history.Event {
		return history.Event{Type: t, Time: at * ms, Worker: client, Client: client + "/r00", Resource: "r00"}
	}
	a := acquires("A", "gA", 1, 2)
	kept := func(to int64) []op {
		out := append(poll("B", 10, to, 100), a)
		for at := int64(1000); at < to; at += 1000 {
			r := by("R#1", renews("A", "gA", at, at+1))
			r.Worker = "R"
			out = append(out, r)
		}
		return out
	}
	for _, c := range []struct {
		name   string
		ops    []op
		events []history.Event
		healed int64
		want   Verdict
	}{
		{"nobody wants it", []op{a, reads("A", 9000, 9001, "init")}, nil, 0, Holds},
		{"polls in vain", append(poll("B", 10, 6000, 100), a), nil, 0, Violated},
		{"polls 4 s", append(poll("B", 10, 4000, 100), a), nil, 0, Holds},
		{"polls in vain while a fault is on", append(poll("B", 10, 6000, 100), a), nil, 3000, Holds},
		{"polls in vain after the fault", append(poll("B", 10, 9000, 100), a), nil, 3000, Violated},
		{"somebody gets it in between", append(poll("B", 10, 6000, 100), a, acquires("C", "gC", 3000, 3001)), nil, 0, Holds},
		{"the holder renews", append(append(poll("B", 10, 8000, 100), a), renews("A", "gA", 1000, 1001), renews("A", "gA", 2000, 2001), renews("A", "gA", 4000, 4001)), nil, 0, Holds},
		{"another process renews for the holder", kept(8000), nil, 0, Holds},
		{"another process renews for one that was killed", kept(8000), []history.Event{{Type: history.TypeWorker, Worker: "A", Status: "killed", Time: 1500 * ms}}, 0, Violated},
		{"it was killed late", kept(8000), []history.Event{{Type: history.TypeWorker, Worker: "A", Status: "killed", Time: 7500 * ms}}, 0, Holds},
		{"an acquire that takes 6 s", []op{a, acquires("B", "gB", 10, 6010)}, nil, 0, Violated},
		{"two wait in turn", append(append(poll("B", 10, 3000, 100), poll("C", 2900, 6000, 100)...), a), nil, 0, Violated},
		{"watches in vain", []op{a, reads("A", 9000, 9001, "init")}, []history.Event{want("B", history.TypeWant, 10)}, 0, Violated},
		{"watches and gets it", []op{a, acquires("B", "gB", 4000, 4001), reads("A", 9000, 9001, "init")}, []history.Event{want("B", history.TypeWant, 10)}, 0, Holds},
		{"watches and gives up", []op{a, reads("A", 9000, 9001, "init")}, []history.Event{want("B", history.TypeWant, 10), want("B", history.TypeGiveUp, 4000)}, 0, Holds},
		{"watches and is killed", []op{a, reads("A", 9000, 9001, "init")}, []history.Event{want("B", history.TypeWant, 10), {Type: history.TypeWorker, Worker: "B", Status: "killed", Time: 4000 * ms}}, 0, Holds},
	} {
		t.Run(c.name, func(t *testing.T) {
			hist := recorded(c.ops...)
			hist.Events = c.events
			if c.healed > 0 {
				paused(hist, "f1", "A", "", 1000, c.healed)
			}
			f := judged(t, hist, nil, Config{}).Findings[Progress]
			if f.Verdict == Vacuous {
				f.Verdict = Holds
			}
			if f.Verdict != c.want {
				t.Errorf("%s, want %s: %v", f.Verdict, c.want, f.Examples)
			}
		})
	}
}
