package checkers

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// TestPiecesOfLegalHistories: whatever is cut out of a legal history is legal,
// for Porcupine, for the search-free check and, now and then, by brute force.
func TestPiecesOfLegalHistories(t *testing.T) {
	t.Logf("seed %d, %d histories", bruteSeed, randomHistories)
	rng := rand.New(rand.NewPCG(bruteSeed, 5))
	cut, unclosed := map[Property]int{}, 0
	for tries, green := 0, 0; green < randomHistories; tries++ {
		g := generate(rng)
		if g.h.Validate() != nil {
			continue
		}
		e := gather(g.h)[0]
		cs := clusters(e)
		some := randomClusters(rng, cs)
		if len(some) == 0 {
			continue
		}
		holds := false
		for _, m := range models {
			if m.decide(cs).answer != legal {
				continue
			}
			holds = true
			cut[m.property]++
			part := piece(g.h, e, m.property, some)
			if err := part.Validate(); err != nil {
				t.Fatalf("try %d: a piece is not valid: %v\n%s", tries, err, listing(part))
			}
			if a := m.judgePiece(part, time.Minute); a != legal {
				t.Fatalf("try %d: %s holds, and Porcupine says %v of a piece\n%s\n%s", tries, m.property, a, listing(g.h), listing(part))
			}
			if a := m.decide(clusters(gather(part)[0])).answer; a != legal {
				t.Fatalf("try %d: %s holds, and the search-free check says %v of a piece\n%s\n%s", tries, m.property, a, listing(g.h), listing(part))
			}
			if tries%10 == 0 && !enumerate(part, bruteRules[m.property]) {
				t.Fatalf("try %d: %s holds, and a piece is illegal\n%s\n%s", tries, m.property, listing(g.h), listing(part))
			}
			if part.Header.Piece.LeftOut = nil; tries%10 == 0 && !enumerate(part, bruteRules[m.property]) {
				unclosed++
			}
		}
		if holds {
			green++
		}
	}
	t.Logf("pieces: %v; illegal if a basis that was left out counts: %d", cut, unclosed)
	if unclosed == 0 {
		t.Error("no piece depended on what was left out, so nothing was shown")
	}
}

func randomClusters(rng *rand.Rand, cs []*cluster) []*cluster {
	var some []*cluster
	for _, c := range cs {
		if rng.IntN(2) == 0 {
			some = append(some, c)
		}
	}
	return some
}

// TestCounterexamples: the counterexample of every violation is a valid history
// and illegal, for Porcupine and by brute force; after shrinking no cluster of
// it can be left out.
func TestCounterexamples(t *testing.T) {
	t.Logf("seed %d, %d histories", bruteSeed, randomHistories/4)
	rng := rand.New(rand.NewPCG(bruteSeed, 6))
	sizes := map[Property]map[int]int{}
	for tries := range randomHistories / 4 {
		g := generateOf(rng, 2+rng.IntN(3))
		if g.h.Validate() != nil {
			continue
		}
		e := gather(g.h)[0]
		for _, m := range models {
			d := m.decide(clusters(e))
			if d.answer == illegal && len(d.found) == 0 {
				t.Fatalf("try %d: %s is violated by nobody\n%s", tries, m.property, listing(g.h))
			}
			for _, v := range d.found {
				m.checkCounterexample(t, g.h, e, v.because)
				small := m.shrink(g.h, e, v.because, time.Minute)
				m.checkCounterexample(t, g.h, e, small)
				for i := range small {
					rest := append(small[:i:i], small[i+1:]...)
					if !enumerate(piece(g.h, e, m.property, rest), bruteRules[m.property]) {
						t.Fatalf("try %d: %s is illegal without %s\n%s", tries, m.property, small[i].name(), listing(piece(g.h, e, m.property, small)))
					}
				}
				if sizes[m.property] == nil {
					sizes[m.property] = map[int]int{}
				}
				sizes[m.property][len(small)]++
			}
		}
	}
	t.Logf("clusters of counterexamples: %v", sizes)
	for _, m := range models {
		if len(sizes[m.property]) == 0 {
			t.Errorf("%s was never violated, so nothing was shown", m.property)
		}
	}
}

func (m *model) checkCounterexample(t *testing.T, h *history.History, e *evidence, cs []*cluster) {
	t.Helper()
	part := piece(h, e, m.property, cs)
	if err := part.Validate(); err != nil {
		t.Fatalf("%s: the counterexample is not valid: %v\n%s", m.property, err, listing(part))
	}
	if a := m.judgePiece(part, time.Minute); a != illegal {
		t.Fatalf("%s: Porcupine says %v of a counterexample\n%s\n%s", m.property, a, listing(h), listing(part))
	}
	if enumerate(part, bruteRules[m.property]) {
		t.Fatalf("%s: a counterexample is legal by brute force\n%s\n%s", m.property, listing(h), listing(part))
	}
}

// TestShrinkWithoutADecision: what only Porcupine finds illegal is made as small,
// out of the whole.
func TestShrinkWithoutADecision(t *testing.T) {
	rng := rand.New(rand.NewPCG(bruteSeed, 7))
	shrunk := 0
	for range randomHistories / 50 {
		g := generate(rng)
		if g.h.Validate() != nil {
			continue
		}
		e := gather(g.h)[0]
		for _, m := range models {
			cs := clusters(e)
			if m.decide(cs).answer != illegal {
				continue
			}
			blind := *m
			blind.decide = func([]*cluster) decision { return decision{} }
			small := blind.shrink(g.h, e, cs, time.Minute)
			m.checkCounterexample(t, g.h, e, small)
			if len(small) < len(cs) {
				shrunk++
			}
		}
	}
	if shrunk == 0 {
		t.Error("nothing was made smaller")
	}
}

// TestCounterexampleOfAFinding: it is saved and read like any history, and is
// judged like the whole.
func TestCounterexampleOfAFinding(t *testing.T) {
	shown := 0
	for _, s := range situations() {
		for i := range s.history.Operations { // a recorder's stamps are never 0
			o := &s.history.Operations[i]
			o.Call, o.Completed = o.Call+1, o.Completed+1
			if o.Return != history.Never {
				o.Return++
			}
		}
		j := judged(t, s.history, nil, Config{})
		for p, f := range j.Findings {
			m := modelOf(p)
			if m == nil {
				continue
			}
			if (f.Verdict == Violated) != (len(f.Counterexamples) == 1) {
				t.Errorf("%s: %s is %s with %d counterexamples", s.name, p, f.Verdict, len(f.Counterexamples))
			}
			for _, x := range f.Counterexamples {
				shown++
				path := filepath.Join(t.TempDir(), "history.jsonl")
				if err := history.Save(path, x.History); err != nil {
					t.Fatal(err)
				}
				h, err := history.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := h.Validate(); err != nil {
					t.Fatal(err)
				}
				if a := m.judgePiece(h, time.Minute); a != illegal || len(x.Why) < 2 || len(x.Ops) != len(h.Operations) {
					t.Errorf("%s: the counterexample of %s is %v when read again; %q", s.name, p, a, x.Why)
				}
				if p == StaleOverwrite {
					t.Logf("%s: %q", s.name, x.Why)
				}
			}
		}
	}
	if shown < 5 {
		t.Errorf("only %d counterexamples", shown)
	}
}
