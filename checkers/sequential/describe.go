package sequential

import (
	"fmt"
	"html"
	"io"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/torture-harness/torture/harness/foreign"
)

// Sentence says what an operation did: "write 3", "read 3", "cas [0 3]".
func Sentence(op *foreign.Operation) string {
	text := op.F
	if op.Value.Kind != foreign.Nil || op.F == "read" || op.F == "write" {
		text += " " + op.Value.String()
	}
	if op.Outcome == foreign.Unknown {
		text += " (unknown)"
	}
	return text
}

// describe is put into a page as HTML by Porcupine's visualizer.
func describe(e *entry) string {
	text := Sentence(e.op)
	if e.unknown && e.op.Outcome != foreign.Unknown {
		text += " (here it may have happened or not)"
	}
	return html.EscapeString(fmt.Sprintf("%s, %s", text, e.op.Lines()))
}

// describeState names what a state holds.
func (m *Model) describeState(es []entry, s state) string {
	if !m.register {
		return map[bool]string{true: "free", false: "held"}[s.value == none]
	}
	text := "nil"
	for _, e := range es {
		if e.kind != reads && e.to == s.value && s.value != none {
			value := e.op.Value
			if _, to, pair := value.Pair(); pair && e.kind == swaps {
				value = to
			} else if first, _, pair := value.Pair(); pair {
				value = first
			}
			text = value.String()
			break
		}
	}
	if m == &fencedRegister && s.token != initial.token {
		text += fmt.Sprintf(", token %d", s.token)
	}
	return html.EscapeString(text)
}

// How much a page may show: Porcupine's grows with the square of it.
const (
	pageOperations = 150
	pageBudget     = 5 * time.Second
)

// First is the first key that is not linearizable; the first of all where all
// are.
func (r *Result) First() *Key {
	return &r.Keys[max(0, slices.IndexFunc(r.Keys, func(k Key) bool { return k.Verdict == NotLinearizable }))]
}

// Picture writes Porcupine's page about one key: all of it if it is short, else
// the culprits. It says what it shows.
func (m *Model) Picture(w io.Writer, k *Key) (shown string, err error) {
	defer func() {
		if p := recover(); p != nil { // Porcupine's visualizer does so where it is surprised
			err = fmt.Errorf("a bug in the picture, the verdict stands: %v", p)
		}
	}()
	for _, view := range []struct {
		what string
		es   []entry
	}{
		{"all operations", m.reduce(k.entries)},
		{"the operations that no order explains", m.reduce(weakened(k.entries, k.keep))},
	} {
		if k.Name != "" {
			view.what += " of key " + k.Name
		}
		if len(view.es) == 0 || len(view.es) > pageOperations {
			continue
		}
		model := m.model(view.es, func() bool { return true })
		result, info := porcupine.CheckOperationsVerbose(model, operations(view.es), pageBudget)
		if result == map[Verdict]porcupine.CheckResult{Linearizable: porcupine.Ok, NotLinearizable: porcupine.Illegal}[k.Verdict] {
			return view.what, porcupine.Visualize(model, info, w)
		}
	}
	return "", fmt.Errorf("there is too much to show, or nothing: pages hold %d operations", pageOperations)
}
