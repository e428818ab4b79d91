package checkers

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/torture-harness/torture/harness/history"
)

// TestSpans: what is found without a look at all is what a look at all finds,
// in the order that is said.
func TestSpans(t *testing.T) {
	rng := rand.New(rand.NewPCG(bruteSeed, 9))
	found := 0
	for range 2000 {
		var s spans[int]
		type stretch struct{ from, to int64 }
		var all []stretch
		for i := range rng.IntN(12) {
			x := stretch{rng.Int64N(10), rng.Int64N(20)}
			all = append(all, x)
			s.add(x.from, x.to, i)
		}
		s.sort()
		before, after := rng.Int64N(12), rng.Int64N(22)
		var want []int
		for i, x := range all {
			if x.from < before && x.to > after {
				want = append(want, i)
			}
		}
		slices.SortStableFunc(want, func(a, b int) int { return int(all[a].from - all[b].from) })
		slices.Reverse(want)
		if got := slices.Collect(s.over(before, after)); !slices.Equal(got, want) {
			t.Fatalf("%v: began before %d and ended after %d: %v, want %v", all, before, after, got, want)
		}
		found += len(want)
	}
	if found == 0 {
		t.Error("nothing was ever found")
	}
}

// TestQuickRules: the rules that look at a few operations say what the plain
// ones say that look at all.
func TestQuickRules(t *testing.T) {
	effective := func(e *evidence, fits func(w *write) bool) bool {
		return slices.ContainsFunc(e.writes, func(w *write) bool { return w.mayHaveEffect() && fits(w) })
	}
	plain := map[string]func(e *evidence, r refusal) bool{
		"fenced": func(e *evidence, r refusal) bool {
			return effective(e, func(w *write) bool { return r.mayFollow(w.op, w.grant) })
		},
		"fenced-le": func(e *evidence, r refusal) bool {
			return effective(e, func(w *write) bool { return w.grant != r.grant && r.mayFollow(w.op, w.grant) })
		},
		"version": func(e *evidence, r refusal) bool {
			return effective(e, func(w *write) bool {
				return w.op != r.op && w.op.WriteID != r.op.Basis && w.op.Call < r.op.Return && w.ret > r.basis.Call
			})
		},
		"idempotency": func(e *evidence, r refusal) bool {
			return effective(e, func(w *write) bool {
				return w.op.Client == r.op.Client && w.op.Grant == r.op.Grant && w.op.Call < r.op.Call
			})
		},
		"claim": func(e *evidence, r refusal) bool {
			return slices.ContainsFunc(e.claims, func(c *history.Operation) bool {
				g := e.granted[c.Grant]
				return (g != r.grant || r.op.Kind != history.Write) && (c.Outcome == history.OK || c.Outcome == history.Info) && r.mayFollow(c, g)
			})
		},
	}
	overlapped := func(e *evidence) (out []string) {
		for i, w := range e.writes {
			if w.sent() && slices.ContainsFunc(e.writes[:i], func(x *write) bool {
				return x.effective && x.op.Client != w.op.Client && x.ret > w.basis.Call
			}) {
				out = append(out, w.op.ID)
			}
		}
		return out
	}
	rng := rand.New(rand.NewPCG(bruteSeed, 10))
	said := map[string]map[bool]int{}
	for tries := range randomHistories / 10 {
		g := generateOf(rng, 2+rng.IntN(3))
		for i := range g.h.Operations { // some reads claim
			if o := &g.h.Operations[i]; o.Kind == history.Read && o.Grant != "" && rng.IntN(2) == 0 {
				o.Kind = history.Claim
			}
		}
		if g.h.Validate() != nil {
			continue
		}
		e := gather(g.h)[0]
		for _, r := range e.refusals() {
			for guard, rule := range plain {
				want := rule(e, r)
				if got := refusalRules[guard](e, r); got != want {
					t.Fatalf("try %d: %s may refuse %s: %v, want %v\n%s", tries, guard, r.op.ID, got, want, listing(g.h))
				}
				if said[guard] == nil {
					said[guard] = map[bool]int{}
				}
				said[guard][want]++
			}
		}
		var got []string
		for _, x := range contended(e) {
			got = append(got, x.op)
		}
		if want := overlapped(e); !slices.Equal(got, want) {
			t.Fatalf("try %d: contended %v, want %v\n%s", tries, got, want, listing(g.h))
		}
	}
	t.Logf("may refuse: %v", said)
	for guard := range plain {
		if said[guard][true] == 0 || said[guard][false] == 0 {
			t.Errorf("%s: the histories are too one-sided to show anything", guard)
		}
	}
}
