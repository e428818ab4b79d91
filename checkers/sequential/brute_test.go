package sequential

import (
	"context"
	"fmt"
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

// random is a small history as a file could hold it. Half of the time each
// value is written once.
func random(r *rand.Rand, m *Model) *foreign.History {
	h := &foreign.History{File: "random", Format: foreign.EDN}
	n := 1 + r.IntN(7)
	unique := r.IntN(2) == 0
	values := 1 + r.IntN(4)
	value := func() foreign.Value { return number(1 + r.IntN(values)) }
	open := map[int]int{} // process to operation
	process := 0
	var place int64
	for len(h.Operations) < n || len(open) > 0 {
		place++
		if len(h.Operations) < n && (len(open) == 0 || len(open) < 4 && r.IntN(2) == 0) {
			op := foreign.Operation{Process: fmt.Sprint(process), Call: place, Return: foreign.Never, Invoked: foreign.Position{Line: int(place), Column: 1}}
			id := value()
			if unique {
				id = number(len(h.Operations) + 1)
			}
			seen := number(1 + r.IntN(n))
			if !unique {
				seen = value()
			}
			if r.IntN(8) == 0 {
				seen = foreign.Value{}
			}
			switch m {
			case &mutex, &ownerMutex:
				op.F = []string{"acquire", "release"}[r.IntN(2)]
				op.Value = number(1 + r.IntN(2))
			default:
				switch k := r.IntN(5); {
				case k < 2:
					op.F, op.Value = "read", seen
				case k == 2 && m == &casRegister || k == 3 && m == &casRegister:
					op.F, op.Value = "cas", foreign.Value{Kind: foreign.Vector, Items: []foreign.Value{seen, id}}
				default:
					op.F, op.Value = "write", id
					if r.IntN(20) == 0 {
						op.Value = foreign.Value{}
					}
					if m == &fencedRegister {
						op.Value = foreign.Value{Kind: foreign.Vector, Items: []foreign.Value{op.Value, number(r.IntN(3))}}
					}
				}
			}
			open[process] = len(h.Operations)
			process++
			h.Operations = append(h.Operations, op)
			continue
		}
		for p, i := range open { // any of them: the order of a map is as good as another
			op := &h.Operations[i]
			delete(open, p)
			switch r.IntN(10) {
			case 0, 1:
				op.End, op.Completed = place, foreign.Position{Line: int(place), Column: 1}
			case 2:
				op.Outcome, op.Return, op.End = foreign.Failed, place, place
			default:
				op.Outcome, op.Return, op.End = foreign.OK, place, place
			}
			op.Completed = foreign.Position{Line: int(place), Column: 1}
			break
		}
	}
	return h
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
			if bad < histories/50 || bad > histories*49/50 || m.register && direct < histories/20 {
				t.Errorf("%d of %d were bad, %d decided without a search: this tests little", bad, histories, direct)
			}
		})
	}
}
