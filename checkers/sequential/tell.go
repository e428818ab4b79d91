package sequential

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/torture-harness/torture/harness/foreign"
)

// How much is told at most: a story that nobody reads to its end is none.
const (
	toldKeys     = 10
	toldCulprits = 12
)

// Tell writes what was read and what was found; the last line is the verdict.
func (r *Result) Tell(w io.Writer, h *foreign.History, m *Model) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s, model %s\n%s\n", h.File, source(h, len(r.Keys)), m.Name, r.told(h))
	told := 0
	for i := range r.Keys {
		k := &r.Keys[i]
		if k.Verdict == Linearizable {
			continue
		}
		if told++; told <= toldKeys {
			fmt.Fprintf(&out, "\n%s%s", k.Verdict, k.named())
			k.tell(&out)
		}
	}
	if told > toldKeys {
		fmt.Fprintf(&out, "\n%d more keys are not linearizable or undecided\n", told-toldKeys)
	}
	free := 0
	for _, k := range r.Keys {
		if k.SearchFree {
			free++
		}
	}
	if free > 0 {
		fmt.Fprintf(&out, "\ndecided without a search, for Porcupine would need too much time or memory: %s\n", count(free, "key"))
	}
	if r.Reason != "" {
		fmt.Fprintf(&out, "\n%s\n", r.Reason)
	}
	fmt.Fprintf(&out, "\n%s\n", r.Verdict)
	_, err := io.WriteString(w, out.String())
	return err
}

func (k *Key) named() string {
	if k.Name == "" {
		return ""
	}
	return ": key " + plain(k.Name)
}

// tell says what is wrong with a key.
func (k *Key) tell(out *strings.Builder) {
	if k.Verdict == Undecided {
		fmt.Fprintf(out, ": %s\n", k.Reason)
		return
	}
	out.WriteString("\n")
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	// The last ones stand where it becomes visible.
	earlier := max(0, len(k.Culprits)-toldCulprits)
	if earlier > 0 {
		fmt.Fprintf(out, "  %d earlier ones, and\n", earlier)
	}
	for _, op := range k.Culprits[earlier:] {
		fmt.Fprintf(table, "  %s\tprocess %s\t%s\n", op.Lines(), plain(op.Process), plain(Sentence(op)))
	}
	_ = table.Flush() // a strings.Builder takes everything
	if k.Prefix != nil && k.Prefix.Completed.Line > 0 {
		fmt.Fprintf(out, "  The shortest prefix that is not linearizable ends in line %d.\n", k.Prefix.Completed.Line)
	}
	these := "this one"
	if len(k.Culprits) > 1 {
		these = fmt.Sprintf("these %d", len(k.Culprits))
	}
	fmt.Fprintf(out, "  No order explains %s of %s, whatever the others did.\n", these, count(k.Operations, "operation"))
}

// source says what was read.
func source(h *foreign.History, keys int) string {
	text := map[foreign.Format]string{
		foreign.EDN: "EDN", foreign.JSONL: "JSON lines", foreign.Log: "a log of Jepsen", foreign.Run: "a history of torture",
	}[h.Format]
	if h.Layout != "" {
		text += " (" + h.Layout + ")"
	}
	if h.Keyed {
		text += ", " + count(keys, "independent key")
	}
	return text
}

// told says what was judged and what was not.
func (r *Result) told(h *foreign.History) string {
	parts := []string{}
	for _, p := range []struct {
		n    int
		what string
	}{
		{r.Unknown, "with an unknown outcome"},
		{r.Failed, "failed: certainly without effect, so dropped"},
		{r.Blind, "reads of nil: they observed nothing"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	text := count(r.Operations, "operation")
	if len(parts) > 0 {
		text += " (" + strings.Join(parts, "; ") + ")"
	}
	if h.Left.Nemesis > 0 {
		text += "; left out: " + count(h.Left.Nemesis, "event") + " of the nemesis"
	}
	if h.Left.Lines > 0 {
		text += "; left out: " + count(h.Left.Lines, "line") + " of the log that are no events"
	}
	return text
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// plain is a text of a file as a terminal can show it.
func plain(text string) string {
	const keep = 80
	return foreign.Printable(text, keep)
}
