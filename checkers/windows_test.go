package checkers

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/torture-harness/torture/checkers/histories"
	"github.com/torture-harness/torture/harness/history"
)

// tiny windows, so that small histories have many of them.
var tiny = []sizes{{1, 1, 8}, {2, 1, 1}, {3, 2, 2}, {5, 4, 8}}

func inWindows(m *model, z sizes) *windows {
	return &windows{m: m, sizes: z, deadline: time.Now().Add(time.Hour)}
}

// TestWindowsAreTheWhole: what is said of a history in windows is what is said
// of it in one piece, whatever their size; a witness is never believed that is
// none.
func TestWindowsAreTheWhole(t *testing.T) {
	t.Logf("seed %d, %d histories", bruteSeed, randomHistories/4)
	rng := rand.New(rand.NewPCG(bruteSeed, 8))
	said, several, believed, disbelieved := map[answer]int{}, 0, 0, 0
	for tries := range randomHistories / 4 {
		g := generateOf(rng, 2+rng.IntN(4))
		if g.h.Validate() != nil {
			continue
		}
		e := gather(g.h)[0]
		cs := clusters(e)
		z := tiny[rng.IntN(len(tiny))]
		for _, m := range models {
			whole := search(porcupineModel(m.legal, m.newest, start), operations(e), time.Minute)
			said[whole]++
			if a := inWindows(m, z).divide(operations(e)); a != whole {
				t.Fatalf("try %d: %s is %v, divided into windows of %+v %v\n%s", tries, m.property, whole, z, a, listing(g.h))
			}
			if size, _ := z.next(operations(e)); size < e.size() {
				several++
			}
			if d := m.decide(cs); d.answer == legal {
				if a := inWindows(m, z).follow(e, d.order); a != legal {
					t.Fatalf("try %d: %s has a witness, along which it is %v\n%s", tries, m.property, a, listing(g.h))
				}
			}
			order := append([]*cluster{cs[0]}, cs[1:]...)
			rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			switch a := inWindows(m, z).follow(e, order); {
			case a == legal && whole != legal:
				t.Fatalf("try %d: %s is violated, and along some order it holds\n%s", tries, m.property, listing(g.h))
			case a == legal:
				believed++
			default:
				disbelieved++
			}
		}
	}
	t.Logf("said %v; %d in several windows; of random orders %d were witnesses, %d not", said, several, believed, disbelieved)
	if said[legal] == 0 || said[illegal] == 0 || several == 0 || believed == 0 || disbelieved == 0 {
		t.Error("the histories are too one-sided to show anything")
	}
}

// TestLongInWindows: a long history is judged as it was made, with a witness and
// without.
func TestLongInWindows(t *testing.T) {
	for name, s := range map[string]histories.Shape{
		"green":                    {Operations: 3000, Paused: 0.05, Unknown: 0.05},
		"red":                      {Operations: 3000, Paused: 0.05, Unknown: 0.05, Stale: 1},
		"red and hardly quiescent": {Operations: 1500, Paused: 0.3, Stale: 1},
	} {
		e := gather(s.Make().History)[0]
		for _, m := range models {
			want := answerOf(s.Stale == 0 || m.property == Register)
			w := inWindows(m, ordinary)
			if a := w.divide(operations(e)); a != want {
				t.Errorf("%s: %s is %v in windows (%s), want %v", name, m.property, a, w.why, want)
			}
			d := m.decide(clusters(e))
			if d.answer != want {
				t.Fatalf("%s: %s is decided as %v", name, m.property, d.answer)
			}
			if want == legal {
				if a := inWindows(m, ordinary).follow(e, d.order); a != legal {
					t.Errorf("%s: %s is %v along its witness", name, m.property, a)
				}
				last := len(d.order) - 1
				if d.order[0], d.order[last] = d.order[last], d.order[0]; inWindows(m, ordinary).follow(e, d.order) == legal {
					t.Errorf("%s: %s holds along a wrong witness", name, m.property)
				}
				if inWindows(m, ordinary).follow(e, d.order[:last]) == legal {
					t.Errorf("%s: %s holds along a part of a witness", name, m.property)
				}
			}
		}
	}
}

// TestViolationAcrossWindows: each window is legal by itself, and the violation
// is between two of them.
func TestViolationAcrossWindows(t *testing.T) {
	for _, c := range []struct {
		name string
		h    *history.History
		want map[Property]answer
	}{
		{"a newer grant wrote windows ago", recorded(acquires("A", "gA", 0, 1), reads("A", 2, 3, "init"),
			acquires("B", "gB", 10, 11), reads("B", 12, 13, "init"), writes("B", "gB", "wB", "init", 14, 15),
			observed(20, 21, "wB"), observed(22, 23, "wB"), observed(24, 25, "wB"), observed(26, 27, "wB"),
			writes("A", "gA", "wA", "init", 30, 31)),
			map[Property]answer{Register: legal, StaleOverwrite: illegal, FenceOrder: illegal, RMWAtomic: illegal}},
		{"a read of what was overwritten windows ago", recorded(acquires("A", "gA", 0, 1), reads("A", 2, 3, "init"),
			writes("A", "gA", "wA", "init", 4, 5), observed(6, 7, "wA"), observed(8, 9, "wA"), observed(10, 11, "init")),
			map[Property]answer{Register: illegal, StaleOverwrite: illegal, FenceOrder: illegal, RMWAtomic: illegal}},
		{"the same, called as the write returns", recorded(acquires("A", "gA", 0, 1), reads("A", 2, 3, "init"),
			writes("A", "gA", "wA", "init", 4, 5), observed(5, 7, "init")),
			map[Property]answer{Register: legal, StaleOverwrite: legal, FenceOrder: legal, RMWAtomic: legal}},
		{"either of two writes may have come last, and the next window tells which", recorded(
			acquires("A", "gA", 0, 1), reads("A", 2, 3, "init"), acquires("B", "gB", 0, 1), reads("B", 2, 3, "init"),
			writes("A", "gA", "wA", "init", 4, 6), writes("B", "gB", "wB", "init", 4, 6), observed(8, 9, "wA"), observed(10, 11, "wA")),
			map[Property]answer{Register: legal, StaleOverwrite: legal, FenceOrder: legal, RMWAtomic: illegal}},
		{"an unknown write, open for ever and seen at the end", recorded(
			acquires("A", "gA", 0, 1), reads("A", 2, 3, "init"), unknownOp(writes("A", "gA", "wA", "init", 4, 5)),
			acquires("B", "gB", 10, 11), reads("B", 12, 13, "init"), writes("B", "gB", "wB", "init", 14, 15), observed(16, 17, "wB"), observed(90, 91, "wA")),
			map[Property]answer{Register: legal, StaleOverwrite: illegal, FenceOrder: illegal, RMWAtomic: illegal}},
	} {
		e := gather(c.h)[0]
		for _, m := range models {
			for _, z := range tiny {
				if a := inWindows(m, z).divide(operations(e)); a != c.want[m.property] {
					t.Errorf("%s: %s is %v in windows of %+v, want %v", c.name, m.property, a, z, c.want[m.property])
				}
			}
		}
	}
}

// TestNoCutAtEqualStamps: what returns when something else is called is
// concurrent with it, so nothing comes between them.
func TestNoCutAtEqualStamps(t *testing.T) {
	op := func(id int32, write bool, call, ret int64) porcupine.Operation {
		return porcupine.Operation{Input: &step{id: id, write: write}, Call: call, Return: ret}
	}
	for _, c := range []struct {
		call int64
		size int
	}{{9, 2}, {10, 2}, {11, 1}} {
		size, ends := sizes{1, 1, 8}.next([]porcupine.Operation{op(1, true, 1, 10), op(1, false, c.call, 20)})
		if size != c.size || size == 1 && (len(ends) != 1 || ends[0] != 1) {
			t.Errorf("called at %d: a window of %d ending with %v, want %d", c.call, size, ends, c.size)
		}
	}
}

// TestLastWrites: all and only those writes can come last that none certainly
// follows.
func TestLastWrites(t *testing.T) {
	w := func(id int32, call, ret int64) porcupine.Operation {
		return porcupine.Operation{Input: &step{id: id, write: true}, Call: call, Return: ret}
	}
	r := func(id int32, call, ret int64) porcupine.Operation {
		return porcupine.Operation{Input: &step{id: id}, Call: call, Return: ret}
	}
	for _, c := range []struct {
		name string
		ops  []porcupine.Operation
		want []int32
	}{
		{"no write", []porcupine.Operation{r(7, 1, 2)}, nil},
		{"one after the other", []porcupine.Operation{w(1, 1, 2), w(2, 3, 4)}, []int32{2}},
		{"touching", []porcupine.Operation{w(1, 1, 3), w(2, 3, 4)}, []int32{1, 2}},
		{"at once", []porcupine.Operation{w(1, 1, 9), w(2, 2, 8), w(3, 3, 7)}, []int32{1, 2, 3}},
		{"a read tells", []porcupine.Operation{w(1, 1, 9), w(2, 2, 8), r(1, 9, 10)}, []int32{1}},
		{"a read tells that one came before", []porcupine.Operation{w(1, 1, 9), r(1, 2, 3), w(2, 4, 8)}, []int32{2}},
		{"each was read after the other", []porcupine.Operation{w(1, 1, 2), w(2, 1, 2), r(1, 3, 4), r(2, 3, 4)}, nil},
		{"equal calls", []porcupine.Operation{w(1, 5, 6), w(2, 5, 7), w(3, 1, 2)}, []int32{1, 2}},
	} {
		got := lastWrites(c.ops)
		same := len(got) == len(c.want)
		for i := range got {
			same = same && got[i] == c.want[i]
		}
		if !same {
			t.Errorf("%s: %v can come last, want %v", c.name, got, c.want)
		}
	}
}

// TestSearchIsBounded: a search that would take too much is given up, for that
// reason, at the same step every time; and along a witness it is made smaller
// instead.
func TestSearchIsBounded(t *testing.T) {
	e := gather(histories.Shape{Operations: 600}.Make().History)[0]
	ops := operations(e)
	m := porcupineModel(registerModel.legal, false, start)
	enough := limits{memory: int64(len(ops)) * stepMemory(len(ops))}
	if a, why := enough.search(m, ops, time.Minute); a != legal {
		t.Errorf("with memory for every operation: %v (%s)", a, why)
	}
	short := limits{memory: enough.memory - stepMemory(len(ops))}
	if a, why := short.search(m, ops, time.Minute); a != unknown || why != outOfMemory {
		t.Errorf("with memory for all but one operation: %v (%s)", a, why)
	}
	if a, why := enough.search(m, ops, 0); a != unknown || why != outOfTime {
		t.Errorf("without time: %v (%s)", a, why)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if a, why := (limits{ctx: gone}).search(m, ops, time.Minute); a != unknown || why != outOfTime {
		t.Errorf("when nobody waits any more: %v (%s)", a, why)
	}
	w := inWindows(&registerModel, ordinary)
	w.limits.memory = 40 * stepMemory(40)
	if a := w.follow(e, registerModel.decide(clusters(e)).order); a != legal {
		t.Errorf("along a witness, in windows that have to be smaller: %v (%s)", a, w.why)
	}
	w.limits.memory = 1
	if a := w.divide(ops); a != unknown || w.why != outOfMemory {
		t.Errorf("divided, without memory: %v (%s)", a, w.why)
	}
}

// TestParallelIsInOrder: what is found does not depend on how many resources
// are judged at once.
func TestParallelIsInOrder(t *testing.T) {
	h := histories.Shape{Resources: 12, Operations: 100, Stale: 5, Unknown: 0.1}.Make().History
	var first outcome
	for _, parallel := range []int{1, 2, 12, 40} {
		c := newCell(context.Background(), h, nil, Config{Budget: DefaultBudget})
		c.parallel = parallel
		o := rmwAtomicModel.Check(c)
		if o.verdict != Violated || len(o.culprits) < 5 {
			t.Fatalf("%s with %d culprits", o.verdict, len(o.culprits))
		}
		if parallel == 1 {
			first = o
		}
		for i, k := range o.culprits {
			if k.op != first.culprits[i].op {
				t.Errorf("%d at once: culprit %d is %s, one by one it is %s", parallel, i, k.op, first.culprits[i].op)
			}
		}
	}
}
