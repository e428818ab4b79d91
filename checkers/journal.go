package checkers

import (
	"fmt"

	"github.com/torture-harness/torture/harness/history"
)

// journal is the store's own order of accepted writes, tied to the history.
// It decides first: what clients saw is weaker than what happened.
type journal struct {
	walks map[string][]*write        // resource to its writes in the order of acceptance
	ids   map[string]map[string]bool // resource to the write ids it has
	// unusable resources have entries that cannot be tied, or lack some.
	unusable map[string]bool
	errors   []string // contradictions that a sound harness cannot produce
}

func readJournal(entries []history.JournalEntry, resources []*evidence, lossAllowed bool) *journal {
	j := &journal{walks: map[string][]*write{}, ids: map[string]map[string]bool{}, unusable: map[string]bool{}}
	known := map[string]*evidence{}
	for _, e := range resources {
		known[e.name], j.ids[e.name] = e, map[string]bool{history.InitialWrite: true}
	}
	wrong := func(resource, format string, args ...any) {
		j.unusable[resource] = true
		j.errors = append(j.errors, "journal: "+fmt.Sprintf(format, args...))
	}
	for _, entry := range entries {
		e := known[entry.Resource]
		if e == nil {
			wrong(entry.Resource, "seq %d has the resource %q, which the history does not know", entry.Seq, entry.Resource)
			continue
		}
		w := e.byID[entry.WriteID]
		if w == nil {
			wrong(e.name, "seq %d of %s has the write %q, which nobody invoked", entry.Seq, e.name, entry.WriteID)
			continue
		}
		if !w.mayHaveEffect() {
			wrong(e.name, "seq %d of %s has the write %q, which its client takes for %s", entry.Seq, e.name, entry.WriteID, w.op.Outcome)
			continue
		}
		if entry.Basis != w.op.Basis || entry.Grant != w.op.Grant {
			wrong(e.name, "seq %d of %s has %q on %q under %q, its client recorded %q under %q", entry.Seq, e.name, entry.WriteID, entry.Basis, entry.Grant, w.op.Basis, w.op.Grant)
			continue
		}
		j.ids[e.name][entry.WriteID] = true
		j.walks[e.name] = append(j.walks[e.name], w)
	}
	for _, e := range resources {
		for _, r := range e.reads {
			if j.ids[e.name][r.WriteID] {
				continue
			}
			j.unusable[e.name] = true
			if !lossAllowed {
				wrong(e.name, "%s of %s saw %q, which the journal lacks", r.ID, e.name, r.WriteID)
			}
		}
		for _, w := range e.writes {
			if w.op.Outcome == history.OK && !j.ids[e.name][w.op.WriteID] {
				j.unusable[e.name] = true // durability tells it
			}
		}
	}
	return j
}

func (w *write) mayHaveEffect() bool {
	return w.op.Outcome == history.OK || w.op.Outcome == history.Info
}

// walk evaluates a rule along the order in which the store accepted writes.
func walk(e *evidence, order []*write, m *model) []violation {
	n := number(e)
	s := state{current: initial, newest: past}
	var newest *write // of the grant that set s.newest
	place := map[string]int{history.InitialWrite: -1}
	var out []violation
	for i, w := range order {
		step := n.write(w)
		if !m.legal(s, step) {
			v := violation{w: w}
			if m.newest {
				v.newest = newest
			}
			if basis, there := place[w.op.Basis]; there {
				v.lost = order[basis+1 : min(i, basis+1+maxLost)]
			}
			out = append(out, v)
		}
		if newest == nil || step.grantCall > s.newest {
			newest = w
		}
		s = s.after(step)
		place[w.op.WriteID] = i
	}
	return out
}

// maxLost is how many lost writes of one violation are kept.
const maxLost = 3
