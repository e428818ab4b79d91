package checkers

import "testing"

// TestRefusalsOfTheCatalogue: what each further guard may refuse, and what it
// may not. A's grant is the older one.
func TestRefusalsOfTheCatalogue(t *testing.T) {
	a, b := acquires("A", "gA", 0, 1), acquires("B", "gB", 20, 21)
	readA, readB := reads("A", 2, 3, "init"), reads("B", 22, 23, "init")
	writeA, writeB := writes("A", "gA", "wA", "init", 4, 5), writes("B", "gB", "wB", "init", 24, 25)
	lateA := rejected(writes("A", "gA", "wA", "init", 40, 41))
	againA := rejected(writes("A", "gA", "wA2", "init", 8, 9))
	refusedB := rejected(writes("B", "gB", "wB", "init", 24, 25))
	long := lease(1000, a)
	for _, c := range []struct {
		name   string
		guards []string
		ops    []op
		want   Verdict
	}{
		{"a newer grant wrote", []string{"fence-two-statements", "fence-transaction", "fence-for-update", "fence-unlogged", "fence-redis",
			"fence-memory", "fence-content-first", "fence-trigger", "fenced-open", "fenced-repeatable-read", "fenced-serializable", "fence-next", "fence-text", "fenced-le"},
			[]op{a, readA, b, readB, writeB, lateA}, Holds},
		{"only an older grant wrote", []string{"fence-two-statements", "fence-transaction", "fence-for-update", "fence-unlogged", "fence-redis",
			"fence-memory", "fence-content-first", "fence-trigger", "fenced-open", "fence-next", "fence-text", "fenced-le"},
			[]op{a, readA, b, readB, writeA, refusedB}, Violated},
		{"nobody wrote", []string{"fenced-null", "fenced-missing", "fence-next"}, []op{a, readA, b, readB, refusedB}, Violated},
		{"its second commit", []string{"fence-unlogged", "fence-trigger"}, []op{a, readA, writeA, againA}, Holds},
		{"its second commit", []string{"fenced-le"}, []op{a, readA, writeA, againA}, Violated},
		{"anything", []string{"row-lock", "sink", "fence-unchecked"}, []op{a, readA, b, readB, writeB, lateA}, Violated},

		{"the same request", []string{"idempotency", "sink-idempotency", "idempotency-no-key"}, []op{a, readA, writeA, againA}, Holds},
		{"another's request", []string{"idempotency"}, []op{a, readA, b, readB, writeB, lateA}, Violated},

		{"somebody wrote since", []string{"sink-version"}, []op{a, readA, b, readB, writeB, lateA}, Holds},
		{"nobody wrote since", []string{"sink-version"}, []op{a, readA, b, readB, lateA}, Violated},

		{"a newer mark", []string{"owner-cas"}, []op{a, claims("A", "gA", 2, 3, "init"), b, claims("B", "gB", 22, 23, "init"), lateA}, Holds},
		{"an older grant's newer mark", []string{"owner-cas"}, []op{a, b, claims("B", "gB", 22, 23, "init"), claims("A", "gA", 30, 31, "init"),
			rejected(writes("B", "gB", "wB", "init", 40, 41))}, Holds},
		{"no other mark", []string{"owner-cas"}, []op{a, claims("A", "gA", 2, 3, "init"), b, lateA}, Violated},
		{"an older mark", []string{"owner-cas"}, []op{a, claims("A", "gA", 2, 3, "init"), b, claims("B", "gB", 22, 23, "init"), refusedB}, Violated},

		{"the lease had ended", []string{"etcd-txn"}, []op{a, readA, lateA}, Holds},
		{"the lease went on", []string{"etcd-txn"}, []op{long, readA, lateA}, Violated},
		{"the lease was renewed", []string{"etcd-txn"}, []op{a, readA, renews("A", "gA", 35, 36), lateA}, Violated},
		{"the lock was given back", []string{"etcd-txn"}, []op{long, readA, releases("A", "gA", 30, 31), lateA}, Holds},
	} {
		for _, guard := range c.guards {
			t.Run(guard+": "+c.name, func(t *testing.T) {
				hist := recorded(c.ops...)
				hist.Header.Guard = guard
				if f := judged(t, hist, nil, Config{}).Findings[Progress]; f.Verdict != c.want {
					t.Errorf("%s (%s), want %s: %v", f.Verdict, f.Reason, c.want, f.Examples)
				}
			})
		}
	}
}

// TestLateRenewal: a renewal by another process that is answered "not yours"
// behind a release proves nothing; one before it proves that somebody removed a
// live lease.
func TestLateRenewal(t *testing.T) {
	g := lease(1000, acquires("A", "gA", 0, 1))
	for _, c := range []struct {
		name string
		ops  []op
		want Verdict
	}{
		{"behind the release", []op{g, by("renewer", lost(renews("A", "gA", 10, 20))), releases("A", "gA", 15, 16)}, Holds},
		{"before the release", []op{g, by("renewer", lost(renews("A", "gA", 10, 14))), releases("A", "gA", 15, 16)}, Violated},
		{"without a release", []op{g, by("renewer", lost(renews("A", "gA", 10, 14)))}, Violated},
		{"after the lease's end", []op{g, by("renewer", lost(renews("A", "gA", 990, 1001)))}, Holds},
	} {
		t.Run(c.name, func(t *testing.T) {
			ops := append(c.ops, in("r01", acquires("B", "gB", 0, 1)), acquires("C", "gC", 2000, 2001))
			if f := judged(t, recorded(ops...), nil, Config{}).Findings[LeaseExclusion]; (f.Verdict == Violated) != (c.want == Violated) {
				t.Errorf("%s, want %s: %v", f.Verdict, c.want, f.Examples)
			}
		})
	}
}
