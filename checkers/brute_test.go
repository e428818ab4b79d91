package checkers

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// enumeration tries every order of the operations of a recorded history, as it
// was recorded: unknown writes may take effect or not, at any time. It shares
// nothing with the models but their definition.
type enumeration struct {
	ops     []*history.Operation
	grants  []span // of ops that are writes
	need    uint32 // ops that must be placed
	legal   func(written []span, current string, w *history.Operation, g span) bool
	visited map[visit]bool
	leftOut func(writeID string) bool
}

type span struct{ call, ret int64 }

type visit struct {
	placed  uint32
	current string
}

func enumerate(h *history.History, legal func(written []span, current string, w *history.Operation, g span) bool) bool {
	e := enumeration{legal: legal, visited: map[visit]bool{}, leftOut: h.Header.LeftOut}
	acquired := map[string]span{}
	for i := range h.Operations {
		o := &h.Operations[i]
		if o.Kind == history.Acquire {
			acquired[o.ID] = span{o.Call, o.Return}
		}
	}
	for i := range h.Operations {
		o := &h.Operations[i]
		if o.Kind != history.Read && o.Kind != history.Write || o.Outcome != history.OK && (o.Kind == history.Read || o.Outcome != history.Info) {
			continue
		}
		if o.Kind == history.Read && h.Header.LeftOut(o.WriteID) {
			continue // of a piece: it observes nothing
		}
		g := acquired[o.Grant]
		if o.Kind == history.Write && o.Grant == "" {
			for j := range h.Operations { // the last fitting read stands for the grant
				if r := &h.Operations[j]; r.Kind == history.Read && r.Outcome == history.OK && r.Process == o.Process && r.WriteID == o.Basis && r.Return <= o.Call {
					g = span{r.Call, r.Return}
				}
			}
		}
		if o.Outcome == history.OK {
			e.need |= 1 << len(e.ops)
		}
		e.ops, e.grants = append(e.ops, o), append(e.grants, g)
	}
	return e.place(0, nil, history.InitialWrite)
}

func (e *enumeration) place(placed uint32, written []span, current string) bool {
	if placed&e.need == e.need {
		return true
	}
	here := visit{placed, current}
	if e.visited[here] {
		return false
	}
	e.visited[here] = true
	for i, o := range e.ops {
		if placed&(1<<i) != 0 || !e.mayBeNext(placed, o) {
			continue
		}
		next := placed | 1<<i
		if o.Kind == history.Read {
			if o.WriteID == current && e.place(next, written, current) {
				return true
			}
			continue
		}
		w := o
		if e.leftOut(o.Basis) { // of a piece: it stands on anything
			on := *o
			on.Basis, w = current, &on
		}
		if e.legal(written, current, w, e.grants[i]) && e.place(next, append(written[:len(written):len(written)], e.grants[i]), o.WriteID) {
			return true
		}
	}
	return false
}

func (e *enumeration) mayBeNext(placed uint32, o *history.Operation) bool {
	for j, p := range e.ops {
		if placed&(1<<j) == 0 && p != o && p.Return < o.Call {
			return false
		}
	}
	return true
}

func olderThanSome(g span, written []span) bool {
	for _, h := range written {
		if g.ret < h.call {
			return true
		}
	}
	return false
}

// bruteRules are the definitions of the four properties, once more.
var bruteRules = map[Property]func(written []span, current string, w *history.Operation, g span) bool{
	Register: func([]span, string, *history.Operation, span) bool { return true },
	StaleOverwrite: func(written []span, current string, w *history.Operation, g span) bool {
		return w.Basis == current || !olderThanSome(g, written)
	},
	FenceOrder: func(written []span, _ string, _ *history.Operation, g span) bool { return !olderThanSome(g, written) },
	RMWAtomic:  func(_ []span, current string, w *history.Operation, _ span) bool { return w.Basis == current },
}

// TestBruteForce compares Porcupine on the reduced history, and the search-free
// checks, with the enumeration of the unreduced one. Every answer must be
// definite and right.
func TestBruteForce(t *testing.T) {
	t.Logf("seed %d, %d histories", bruteSeed, randomHistories)
	rng := rand.New(rand.NewPCG(bruteSeed, 1))
	counts := map[Property]map[bool]int{Register: {}, StaleOverwrite: {}, FenceOrder: {}, RMWAtomic: {}}
	unknowns, valid := 0, 0
	for tries := 0; valid < randomHistories; tries++ {
		g := generate(rng)
		if g.h.Validate() != nil {
			if g.sound {
				t.Fatalf("try %d: a store's own history does not validate: %v", tries, g.h.Validate())
			}
			continue
		}
		valid++
		for _, o := range g.h.Operations {
			if o.Outcome == history.Info {
				unknowns++
			}
		}
		e := gather(g.h)[0]
		cs, ops := clusters(e), operations(e)
		for _, m := range models {
			want := enumerate(g.h, bruteRules[m.property])
			counts[m.property][want]++
			found := search(porcupineModel(m.legal, m.newest, state{current: initial, newest: past}), ops, time.Minute)
			if found != answerOf(want) {
				t.Fatalf("try %d: %s is %v, Porcupine says %v\n%s", tries, m.property, want, found, listing(g.h))
			}
			direct := m.decide(cs)
			if direct.answer != answerOf(want) {
				t.Fatalf("try %d: %s is %v, the search-free check says %v\n%s", tries, m.property, want, direct.answer, listing(g.h))
			}
			if problem := m.wrongWitness(e, cs, direct.order); want && problem != "" {
				t.Fatalf("try %d: %s: the witness %s\n%s", tries, m.property, problem, listing(g.h))
			}
		}
	}
	for p, c := range counts {
		t.Logf("%-16s %6d legal, %6d not", p, c[true], c[false])
		if c[true] < valid/50 || c[false] < valid/50 {
			t.Errorf("%s: the histories are too one-sided to show anything", p)
		}
	}
	t.Logf("%d unknown outcomes", unknowns)
}

// wrongWitness is what is wrong with an order that is meant to be legal.
func (m *model) wrongWitness(e *evidence, cs, order []*cluster) string {
	if len(order) != len(cs) || order[0] != cs[0] {
		return "is not all of the clusters, the initial document first"
	}
	if bad, _ := inOrder(order); bad != nil {
		return "goes against real time at " + bad.name()
	}
	n, s := number(e), state{current: initial, newest: past}
	placed := map[*cluster]bool{cs[0]: true}
	for _, c := range order[1:] {
		w := n.write(c.w)
		if placed[c] || !m.legal(s, w) {
			return "is not legal at " + c.name()
		}
		placed[c], s = true, s.after(w)
	}
	return ""
}

// TestJournalOfAStore judges histories that a store did produce, with its
// journal: whatever the clients did wrong, the evidence may not contradict
// itself.
func TestJournalOfAStore(t *testing.T) {
	rng := rand.New(rand.NewPCG(bruteSeed, 2))
	hidden, bothWays := 0, map[Verdict]int{}
	for tries := range randomHistories / 10 {
		g := generate(rng)
		if !g.sound {
			continue
		}
		j, err := Judge(context.Background(), g.h, accepted(g.h, g.order...), Config{MinExposures: 1})
		if err != nil {
			t.Fatal(err)
		}
		if j.Status == Errored {
			t.Fatalf("try %d: %q\n%s", tries, j.Reasons, listing(g.h))
		}
		for _, p := range []Property{Register, Durability} {
			if f := j.Findings[p]; f.Verdict == Violated {
				t.Fatalf("try %d: %s is violated: %v\n%s", tries, p, f.Examples, listing(g.h))
			}
		}
		bothWays[j.Findings[StaleOverwrite].Verdict]++
		hidden += j.HiddenFromClients
	}
	t.Logf("stale-overwrite: %v; hidden from clients: %d", bothWays, hidden)
	if hidden == 0 || bothWays[Violated] == 0 || bothWays[Holds]+bothWays[Vacuous] == 0 {
		t.Error("the histories are too one-sided to show anything")
	}
}
