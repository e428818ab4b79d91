package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/torture-harness/torture/checkers"
)

// summary writes the answer as Markdown, short enough for the summary of a CI
// job: the matrix, what did not come out as it should, and one story.
func summary(w io.Writer, r *run) error {
	var b strings.Builder
	a := answerOf(r)
	fmt.Fprintf(&b, "## torture %s: %s\n\n%s\n\n", markdown(r.Name), markdown(string(r.Status)), markdown(a.Sentence()))
	fmt.Fprintf(&b, "%s %s.\n\n", sign[a.Tone], markdown(capital(a.Status)))

	b.WriteString("| strategy |")
	for _, fault := range r.faults() {
		fmt.Fprintf(&b, " %s |", markdown(fault))
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(r.faults())) + "\n")
	for _, name := range r.strategies() {
		fmt.Fprintf(&b, "| **%s** |", markdown(name))
		for _, fault := range r.faults() {
			text := "not run"
			if c := r.cell(name, fault); c != nil {
				text = markdownCell(marksOf(c.Cell))
			}
			fmt.Fprintf(&b, " %s |", text)
		}
		b.WriteString("\n")
	}

	b.WriteString("\nSafe for data?\n\n")
	for _, name := range r.strategies() {
		s := safetyOf(r, name)
		fmt.Fprintf(&b, "- **%s**: %s %s: %s\n", markdown(name), sign[s.Tone], s.Answer, s.Advice)
	}

	sep := "\n"
	if line := r.loadLine(); line != "" {
		fmt.Fprintf(&b, sep+"- %s\n", markdown(line))
		sep = ""
	}
	for _, c := range r.inOrder() {
		if c.Status != checkers.Pass && !loaded(c.Cell) {
			fmt.Fprintf(&b, sep+"- **%s under %s: %s** %s\n", markdown(c.Strategy), markdown(c.Fault), markdown(string(c.Status)), markdown(strings.Join(reasons(c.Cell), "; ")))
			sep = ""
		}
	}
	for _, e := range r.Errors {
		fmt.Fprintf(&b, sep+"- %s\n", markdown(e))
		sep = ""
	}
	if c, s := r.first(); c != nil {
		fmt.Fprintf(&b, "\n**%s under %s: %s.** %s\n", markdown(c.Strategy), markdown(c.Fault), markdown(s.Title), markdown(s.Sentences()))
	}
	fmt.Fprintf(&b, "\nSeed %d. Again: <code>%s</code>\n", r.Seed, markdown(pasted(r.Command)))
	_, err := io.WriteString(w, b.String())
	return err
}

// first is the story to tell if there is room for one: of a broken promise if
// there is any, else of a stale write.
func (r *run) first() (*cell, *story) {
	for _, wanted := range []func(*cell, *story) bool{
		func(c *cell, s *story) bool { return c.Status == checkers.Failed && s.Tone != good },
		func(c *cell, s *story) bool { return s.Tone == bad },
		func(c *cell, s *story) bool { return true },
	} {
		for _, c := range r.inOrder() {
			if c.Problem != "" {
				continue
			}
			for _, s := range tell(c) {
				if wanted(c, &s) {
					return c, &s
				}
			}
		}
	}
	return nil, nil
}

func markdownCell(m marks) string {
	lines := []string{}
	for _, one := range m.all()[1:] {
		line := one.Sign() + " **" + markdown(one.Text) + "**"
		if one.Rate != "" {
			line += "<br>" + markdown(one.Rate)
		}
		lines = append(lines, line)
	}
	lines = append(lines, m.Lock.Sign()+" "+markdown(m.Lock.Text), "*"+markdown(m.Promise.Text)+"*")
	return strings.Join(lines, "<br>")
}

// markdown makes a text safe to stand anywhere in a page of GitHub's Markdown:
// it stays the text it is, in one line.
func markdown(s string) string {
	s = strings.Join(strings.Fields(clip(s, 1200)), " ")
	var b strings.Builder
	for _, r := range s {
		switch r {
		case '&', '<', '>', '|', '*', '`', '[', ']', '\\', '~', '@', '#', '!', '_', '$':
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
