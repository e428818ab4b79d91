package history

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestReads: however long ago it was, the read that is found is the one that a
// look at all reads finds.
func TestReads(t *testing.T) {
	rng := rand.New(rand.NewPCG(20261130, 2))
	found, none, longAgo := 0, 0, 0
	for range 200 {
		reads := NewReads()
		var all []*Operation
		for now := range int64(100) {
			op := &Operation{
				Client: fmt.Sprint("c", rng.IntN(2)), Resource: fmt.Sprint("r", rng.IntN(2)), Kind: Read, Outcome: OK,
				WriteID: fmt.Sprint("w", rng.IntN(12)), Call: now, Return: now + 1 + rng.Int64N(4),
			}
			if rng.IntN(10) == 0 {
				op.Outcome = Fail
			}
			w := &Operation{Client: "c0", Resource: "r0", Kind: Write, Basis: fmt.Sprint("w", rng.IntN(14)), Call: now - 1 + rng.Int64N(3)}
			if w.Basis == "w13" {
				w.Basis = "w12" // which nobody reads
			}
			var want *Operation
			after := 0
			for _, r := range all {
				if r.hasRead() && r.Client == w.Client && r.Resource == w.Resource {
					if after++; r.isBasisOf(w) {
						want, after = r, 0
					}
				}
			}
			if got := reads.Basis(w); got != want {
				t.Fatalf("at %d: %+v, want %+v", now, got, want)
			}
			switch {
			case want == nil:
				none++
			case after > 16:
				longAgo++
				fallthrough
			default:
				found++
			}
			all = append(all, op)
			reads.Add(op)
		}
	}
	if found == 0 || none == 0 || longAgo == 0 {
		t.Errorf("%d found, %d of them long ago, %d not: too one-sided to show anything", found, longAgo, none)
	}
}
