package checkers

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestDecisionsAreProved: with more clients than brute force can follow every
// answer is definite and comes with its proof: a witness that keeps to the rule,
// or a counterexample that Porcupine finds illegal.
func TestDecisionsAreProved(t *testing.T) {
	rng := rand.New(rand.NewPCG(bruteSeed, 8))
	answers := map[Property]map[answer]int{}
	rounds := map[int]int{}
	for tries := range randomHistories / 10 {
		g := generateOf(rng, 4+rng.IntN(11))
		if g.h.Validate() != nil {
			continue
		}
		e := gather(g.h)[0]
		cs := clusters(e)
		for _, m := range models {
			d := m.decide(cs)
			if answers[m.property] == nil {
				answers[m.property] = map[answer]int{}
			}
			answers[m.property][d.answer]++
			switch d.answer {
			case legal:
				if problem := m.wrongWitness(e, cs, d.order); problem != "" {
					t.Fatalf("try %d: %s: the witness %s\n%s", tries, m.property, problem, listing(g.h))
				}
			case illegal:
				if a := m.searchParts(g.h, e, d.found, time.Minute); a != illegal || len(d.found) == 0 {
					t.Fatalf("try %d: %s: Porcupine says %v of a counterexample\n%s", tries, m.property, a, listing(g.h))
				}
			default:
				t.Fatalf("try %d: %s is not decided\n%s", tries, m.property, listing(g.h))
			}
		}
		if decideRegister(cs).answer == legal {
			rounds[roundsOf(cs)]++
		}
	}
	t.Logf("answers: %v; rounds of stale-overwrite: %v", answers, rounds)
	for p, a := range answers {
		if a[legal] == 0 || a[illegal] == 0 {
			t.Errorf("%s: the histories are too one-sided to show anything: %v", p, a)
		}
	}
}

func roundsOf(cs []*cluster) int {
	s, n := settle(cs), 1
	for more, _ := s.proceed(); more; more, _ = s.proceed() {
		n++
	}
	return n
}

// TestStaleOverwriteInAChain: while B's newer write is under way, A writes again
// and again, each time on its own last, and once more when B's has returned.
// That one must stand on its basis, so that one must too, and so on back to the
// first. It takes no more rounds for a long chain than for a short one.
func TestStaleOverwriteInAChain(t *testing.T) {
	const long = 200
	chain := func(first string, more ...op) []*cluster {
		last, now := first, int64(30)
		for i := range int64(long) {
			id := "w" + itoa(i)
			more = append(more, writes("A", "gA", id, last, now, now+1), reads("A", now+2, now+3, id))
			last, now = id, now+10
		}
		hist := recorded(append(more, acquires("A", "gA", 0, 1), acquires("B", "gB", 20, 21), reads("B", 22, 23, "init"),
			writes("B", "gB", "wB", "init", 25, now), writes("A", "gA", "end", last, now+1, now+2))...)
		if err := hist.Validate(); err != nil {
			t.Fatal(err)
		}
		return clusters(gather(hist)[0])
	}
	for _, c := range []struct {
		name string
		cs   []*cluster
		want answer
	}{
		// B's can only come first, and so can A's.
		{"on the initial document", chain("init", reads("A", 2, 3, "init")), illegal},
		// B's comes first, then C's, whose grant is not older, then A's.
		{"on a write of C", chain("wC", acquires("C", "gC", 10, 21), reads("C", 22, 23, "init"), writes("C", "gC", "wC", "init", 26, 27), reads("A", 28, 29, "wC")), legal},
		// The same, but C's has to stand on the initial document, and so does B's.
		{"on an older write of C", chain("wC", acquires("C", "gC", 4, 5), reads("C", 22, 23, "init"), writes("C", "gC", "wC", "init", 26, 27), reads("A", 28, 29, "wC")), illegal},
	} {
		d := decideStaleOverwrite(c.cs)
		if d.answer != c.want || roundsOf(c.cs) > 3 {
			t.Errorf("%s: %v in %d rounds, want %v", c.name, d.answer, roundsOf(c.cs), c.want)
		}
		if d.answer == illegal && len(d.found[0].because) < long {
			t.Errorf("%s: it is shown by %d clusters, and all of the chain is needed", c.name, len(d.found[0].because))
		}
	}
}
