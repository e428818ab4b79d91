package sequential

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/torture-harness/torture/harness/foreign"
)

// Verdict is what is known about a key, or about all of them.
type Verdict string

// The verdicts.
const (
	Linearizable    Verdict = "linearizable"
	NotLinearizable Verdict = "not linearizable"
	Undecided       Verdict = "undecided"
)

// Result is the judgement of one history.
type Result struct {
	Verdict Verdict
	Reason  string // of Undecided, if no single key is to blame
	counts
	Keys []Key // in the order in which they come up
}

// Key is the judgement of one key.
type Key struct {
	Name       string // "" without independent keys
	Verdict    Verdict
	Reason     string // of Undecided
	SearchFree bool   // Linearizable was decided without Porcupine
	Operations int    // that could be judged

	// Culprits are completed operations that no order explains, whatever the
	// other operations of the key did; as few as were found.
	Culprits []*foreign.Operation

	// Prefix is the operation with whose completion the shortest prefix of the
	// history ends that is not linearizable; as short as was found in time.
	Prefix *foreign.Operation

	entries []entry
	keep    []int
}

// Contradiction is a fault of this program: two ways to decide disagree.
type Contradiction struct{ Key string }

func (c *Contradiction) Error() string {
	return fmt.Sprintf("Porcupine and the search-free check disagree about key %s: this is a fault of torture, keep the file", c.Key)
}

// crossCheck is how many operations Porcupine is asked about although the
// search-free check has found them linearizable. Its memory grows with their
// square.
const (
	crossCheck       = 20_000
	crossCheckBudget = 10 * time.Second
)

// Check judges each key of a history by itself, several at a time, each with a
// budget of its own. An error is a *foreign.Damage if an operation does not fit
// the model, or a *Contradiction.
func Check(ctx context.Context, h *foreign.History, m *Model, budget time.Duration) (*Result, error) {
	byKey, names, n, err := entries(h, m)
	if err != nil {
		return nil, err
	}
	r := &Result{Verdict: Linearizable, counts: n, Keys: make([]Key, len(names))}
	if !m.tells(byKey) {
		r.Verdict, r.Reason = Undecided, "nothing was observed that could be illegal: no completed operation tells anything"
	}
	parallel := min(runtime.GOMAXPROCS(0), len(names))
	var g errgroup.Group
	g.SetLimit(parallel)
	for i, name := range names {
		g.Go(func() error {
			l := limits{ctx: ctx, until: time.Now().Add(budget), memory: memoryShare(parallel)}
			key, err := m.judge(name, byKey[name], l, budget)
			r.Keys[i] = key
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, k := range r.Keys {
		if k.Verdict == NotLinearizable || k.Verdict == Undecided && r.Verdict == Linearizable {
			r.Verdict = k.Verdict
		}
	}
	return r, nil
}

// tells: some operation could have shown a violation. A history of writes alone,
// or of reads that observed nothing, is legal whatever the store did: no verdict.
func (m *Model) tells(byKey map[string][]entry) bool {
	for _, es := range byKey {
		for _, e := range es {
			if !e.unknown && (e.kind != writes || m == &fencedRegister) {
				return true
			}
		}
	}
	return false
}

// judge decides one key.
func (m *Model) judge(name string, es []entry, l limits, budget time.Duration) (Key, error) {
	k := Key{Name: name, Verdict: Linearizable, Operations: len(es), entries: es}
	begun := time.Now()
	reduced := m.reduce(es)
	direct, _ := m.clusters(reduced)
	var searched answer
	var why spent
	switch direct {
	case legal:
		if len(reduced) <= crossCheck {
			searched, why = m.ask(reduced, l.within(min(crossCheckBudget, budget)))
		}
	case unknown:
		searched, why = m.ask(reduced, l)
	}
	switch {
	case direct == legal && searched == illegal:
		return k, &Contradiction{name}
	case direct == legal:
		k.SearchFree = searched == unknown
		return k, nil
	case searched == legal:
		return k, nil
	case direct == unknown && searched == unknown:
		k.Verdict, k.Reason = Undecided, fmt.Sprintf("%d operations: the search was ended by %s (%v)", len(reduced), why, budget)
		if why != spentTime {
			k.Reason = fmt.Sprintf("%d operations: the search was ended by %s", len(reduced), why)
		}
		return k, nil
	}
	k.Verdict = NotLinearizable
	return k, m.explain(&k, time.Since(begun), l)
}

// explain finds the culprits of a key that is not linearizable, and has
// Porcupine confirm them. That has a budget of its own: a violation found in the
// last moment of the search is to be shown as well.
func (m *Model) explain(k *Key, took time.Duration, l limits) error {
	k.Prefix, k.keep = m.smallest(k.entries, took, l)
	l.until = time.Now().Add(max(2*took, shrinkBudget))
	if confirmed, _ := m.ask(m.reduce(weakened(k.entries, k.keep)), l); confirmed == legal {
		return &Contradiction{k.Name}
	}
	slices.Sort(k.keep)
	for _, i := range k.keep {
		k.Culprits = append(k.Culprits, k.entries[i].op)
	}
	return nil
}
