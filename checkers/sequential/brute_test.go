package sequential

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/foreign"
)

// brute tries every order of every choice of the unknown operations.
func (m *Model) brute(es []entry) bool {
	done := make([]bool, len(es))
	var try func(s state) bool
	try = func(s state) bool {
		earliest := int64(foreign.Never)
		left := false
		for i, e := range es {
			if !done[i] && !e.unknown {
				left = true
				earliest = min(earliest, e.ret)
			}
		}
		if !left {
			return true
		}
		for i, e := range es {
			if done[i] || e.call > earliest {
				continue
			}
			next, ok := m.apply(s, e.action)
			if !ok {
				continue
			}
			done[i] = true
			if try(next) {
				done[i] = false
				return true
			}
			done[i] = false
		}
		return false
	}
	return try(initial)
}

// random is a small history as a file could hold it: what a store said that
// mostly keeps to the model. Half of the time each value is written once.
func random(r *rand.Rand, m *Model) *foreign.History {
	g := &generator{Rand: r, m: m, in: interner{}, store: initial, unique: r.IntN(2) == 0, values: 1 + r.IntN(4), open: map[int]bool{}}
	n := 1 + r.IntN(8)
	for len(g.ops) < n || len(g.open) > 0 {
		g.place++
		if len(g.ops) < n && (len(g.open) == 0 || len(g.open) < 4 && r.IntN(2) == 0) {
			g.invoke()
		} else {
			g.complete()
		}
	}
	return &foreign.History{File: "random", Format: foreign.EDN, Operations: g.ops}
}

type generator struct {
	*rand.Rand
	m      *Model
	in     interner
	store  state
	unique bool
	values int
	ops    []foreign.Operation
	open   map[int]bool // operations; true once they have taken effect
	place  int64
}

// value is one to write.
func (g *generator) value() foreign.Value {
	switch {
	case g.IntN(12) == 0:
		return foreign.Value{}
	case g.unique:
		return number(len(g.ops) + 1)
	}
	return number(1 + g.IntN(g.values))
}

// seen is mostly what the store holds.
func (g *generator) seen() foreign.Value {
	if g.IntN(5) > 0 {
		return g.holds()
	}
	return []foreign.Value{{}, number(1 + g.IntN(len(g.ops)+1))}[min(1, g.IntN(6))]
}

func (g *generator) holds() foreign.Value {
	for text, n := range g.in {
		if n == g.store.value {
			return foreign.Value{Kind: foreign.Integer, Text: text}
		}
	}
	return foreign.Value{}
}

func (g *generator) invoke() {
	op := foreign.Operation{Process: fmt.Sprint(len(g.ops)), Call: g.place, Return: foreign.Never, Invoked: foreign.Position{Line: int(g.place), Column: 1}}
	k := g.IntN(5)
	switch {
	case !g.m.register:
		op.F, op.Value = []string{"acquire", "release"}[k%2], number(1+g.IntN(2))
	case k < 2:
		op.F, op.Value = "read", g.seen()
	case k < 4 && g.m == &casRegister:
		op.F, op.Value = "cas", foreign.Value{Kind: foreign.Vector, Items: []foreign.Value{g.seen(), g.value()}}
	default:
		op.F, op.Value = "write", g.value()
		if g.m == &fencedRegister {
			op.Value = foreign.Value{Kind: foreign.Vector, Items: []foreign.Value{op.Value, number(g.IntN(3))}}
		}
	}
	g.ops = append(g.ops, op)
	g.open[len(g.ops)-1] = g.IntN(2) == 0 && g.effect(len(g.ops)-1)
}

// effect lets the store do what an operation asks, if it may.
func (g *generator) effect(i int) bool {
	a, err := g.m.read(&g.ops[i], &g.in)
	if err != nil {
		panic(err)
	}
	next, legal := g.m.apply(g.store, a)
	if legal {
		g.store = next
	}
	return legal
}

func (g *generator) complete() {
	open := slices.Sorted(maps.Keys(g.open))
	i := open[g.IntN(len(open))]
	op := &g.ops[i]
	if op.F == "read" && g.IntN(4) > 0 {
		op.Value = g.holds()
	}
	done := g.open[i] || g.effect(i)
	delete(g.open, i)
	switch k := g.IntN(20); {
	case k < 5: // nobody knows
	case done && k < 19, !done && k < 8:
		op.Outcome = foreign.OK
	default:
		op.Outcome = foreign.Failed
	}
	op.End, op.Completed = g.place, foreign.Position{Line: int(g.place), Column: 1}
	if op.Outcome != foreign.Unknown {
		op.Return = g.place
	}
}

func number(n int) foreign.Value {
	return foreign.Value{Kind: foreign.Integer, Text: fmt.Sprint(n)}
}

// raw translates without leaving anything out but what has failed: what a
// checker drops besides, brute force must judge.
func raw(t testing.TB, h *foreign.History, m *Model) []entry {
	in := interner{}
	var out []entry
	for i := range h.Operations {
		op := &h.Operations[i]
		a, err := m.read(op, &in)
		if err != nil {
			t.Fatal(err)
		}
		a.unknown = op.Outcome == foreign.Unknown
		if op.Outcome != foreign.Failed && !(a.kind == reads && (a.from == none || a.unknown)) {
			out = append(out, entry{action: a, call: op.Call, ret: op.Return, op: op})
		}
	}
	return out
}

func tell(h *foreign.History) string {
	var out strings.Builder
	for i := range h.Operations {
		op := &h.Operations[i]
		fmt.Fprintf(&out, "  [%d %d] %s %v\n", op.Call, op.Return, Sentence(op), op.Outcome)
	}
	return out.String()
}

// TestBruteForce: reduction, clusters, Porcupine and counterexamples agree with
// an enumeration of all orders. TORTURE_HISTORIES says how many are tried of each
// model, TORTURE_SEED which.
func TestBruteForce(t *testing.T) {
	histories, seed := 20_000, uint64(1)
	for name, set := range map[string]func(uint64){
		"TORTURE_HISTORIES": func(n uint64) { histories = int(n) },
		"TORTURE_SEED":      func(n uint64) { seed = n },
	} {
		if text := os.Getenv(name); text != "" {
			n, err := strconv.ParseUint(text, 10, 32)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			set(n)
		}
	}
	for _, m := range Models {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, uint64(len(m.Name))))
			direct, bad := 0, 0
			for range histories {
				h := random(r, m)
				es := raw(t, h, m)
				want := m.brute(es)
				reduced := m.reduce(es)
				if got := m.brute(reduced); got != want {
					t.Fatalf("reduced: %v, want %v\n%s", got, want, tell(h))
				}
				answer, culprits := m.clusters(reduced)
				if answer != unknown {
					direct++
					if (answer == legal) != want {
						t.Fatalf("search-free: %v, want legal %v\n%s", answer, want, tell(h))
					}
				}
				if answer == illegal {
					var keep []int
					for i := range es {
						if slices.Contains(culprits, es[i].op) {
							keep = append(keep, i)
						}
					}
					if m.brute(weakened(es, keep)) {
						t.Fatalf("the search-free culprits %v of %v show nothing\n%s", keep, len(es), tell(h))
					}
				}
				result, err := Check(context.Background(), h, m, time.Minute)
				if err != nil {
					t.Fatalf("%v\n%s", err, tell(h))
				}
				if got := result.Verdict; (got == NotLinearizable) == want || got == Undecided && result.Reason == "" {
					t.Fatalf("%v, want linearizable %v\n%s", result.Verdict, want, tell(h))
				}
				if want {
					continue
				}
				bad++
				k := result.Keys[0]
				for _, op := range k.Culprits {
					if op.Return > k.Prefix.Return {
						t.Fatalf("the prefix that ends with %s does not hold the culprit %s\n%s", Sentence(k.Prefix), Sentence(op), tell(h))
					}
				}
				if m.brute(weakened(k.entries, k.keep)) {
					t.Fatalf("the counterexample %v is none\n%s", k.keep, tell(h))
				}
				for i := range k.keep { // and none of it is needless
					less := append(append([]int(nil), k.keep[:i]...), k.keep[i+1:]...)
					if !m.brute(weakened(k.entries, less)) {
						t.Fatalf("the counterexample %v needs less\n%s", k.keep, tell(h))
					}
				}
			}
			if bad < histories/50 || bad > histories*49/50 || m.register && direct < histories/3 {
				t.Errorf("%d of %d were bad, %d decided without a search: this tests little", bad, histories, direct)
			}
		})
	}
}
