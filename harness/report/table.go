package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/result"
)

// Table writes the answer for a terminal: the matrix, no line longer than
// width columns (if width is at least 40), and below it what the marks mean,
// whether each strategy is safe for data, a line about the load of the machine
// and one for each cell that is not pass for other reasons. Faults that do not fit beside each other
// follow below. Without colour there are no escape sequences in it.
func Table(w io.Writer, r result.Result, width int, colour bool) error {
	const (
		narrow = 19 // what a column of marks needs
		wide   = 26 // more than this helps nobody
		frame  = 3  // what every column costs: a separator and two spaces
	)
	saved := &run{Result: r}
	for _, c := range r.Cells {
		saved.Cells = append(saved.Cells, &cell{Cell: c})
	}
	names := len("strategy")
	for _, name := range saved.strategies() {
		names = max(names, len([]rune(clip(name, narrow))))
	}
	room := width - names - frame
	faults := saved.faults()
	beside := min(max(room/(narrow+frame), 1), max(len(faults), 1))
	column := max(min(room/beside-frame, wide), 10)

	var b strings.Builder
	for part := range slices.Chunk(faults, beside) {
		t := table.NewWriter()
		t.SetStyle(table.StyleLight)
		t.Style().Options.SeparateRows = true
		t.Style().Options.DrawBorder = false
		t.Style().Format.Header = text.FormatDefault
		header, configs := table.Row{"strategy"}, []table.ColumnConfig{{Number: 1, WidthMin: names}}
		for i, fault := range part {
			header = append(header, wrapped(plain(fault), column))
			configs = append(configs, table.ColumnConfig{Number: i + 2, WidthMin: column})
		}
		t.SetColumnConfigs(configs)
		t.AppendHeader(header)
		for _, name := range saved.strategies() {
			row := table.Row{plain(clip(name, narrow))}
			for _, fault := range part {
				if c := saved.cell(name, fault); c != nil {
					row = append(row, tableCell(c.Cell, column, colour))
				} else {
					row = append(row, "not run")
				}
			}
			t.AppendRow(row)
		}
		for line := range strings.Lines(t.Render()) {
			b.WriteString(strings.TrimRight(line, " \n") + "\n")
		}
		b.WriteString("\n")
	}
	b.WriteString(wrapped(legend(saved), width) + "\n\n")
	for _, name := range saved.strategies() {
		s := safetyOf(saved, name)
		b.WriteString(wrapped(plain(fmt.Sprintf("%s: safe for data: %s: %s", clip(name, narrow), s.Answer, s.Advice)), width) + "\n")
	}
	b.WriteString("\n")
	if line := saved.loadLine(); line != "" {
		b.WriteString(wrapped(plain(line), width) + "\n")
	}
	for _, c := range saved.inOrder() {
		if c.Status == checkers.Pass || loaded(c.Cell) {
			continue
		}
		line := fmt.Sprintf("%s under %s: %s", c.Strategy, c.Fault, c.Status)
		if why := reasons(c.Cell); len(why) > 0 {
			line += ": " + strings.Join(why, "; ")
		}
		b.WriteString(wrapped(plain(line), width) + "\n")
	}
	for _, e := range r.Errors {
		b.WriteString(wrapped("error: "+plain(e), width) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// short names of the properties, for a narrow column.
var short = map[checkers.Property]string{
	checkers.LeaseExclusion: "lock", checkers.StaleOverwrite: "stale", checkers.FenceOrder: "fence", checkers.RMWAtomic: "lost",
	checkers.TokenOrder: "token", checkers.Register: "reads", checkers.Durability: "durable", checkers.Progress: "progress",
}

// meaning of the short names, for the legend.
var meaning = map[checkers.Property]string{
	checkers.FenceOrder: "an old holder wrote after a newer one", checkers.TokenOrder: "a newer grant had no larger token",
	checkers.Register: "a read returned a wrong value", checkers.Durability: "the store lost an acknowledged write",
	checkers.Progress: "a lock was stuck, or a write refused without reason",
}

// legend says what the marks and the names in the table mean.
func legend(r *run) string {
	text := "✓\u00a0held while it was at risk, ✗\u00a0did not hold, !\u00a0a harm that the strategy never promised to prevent, ?\u00a0not decided, –\u00a0does not apply. " +
		"3 in 52: 3 times in 52 exposures. lock: granted to two at once. stale: an old holder overwrote newer data. " +
		"lost: an accepted update that somebody overwrote without having read it."
	for _, p := range secondary {
		if slices.ContainsFunc(r.Cells, func(c *cell) bool { _, shown := otherMark(c.Cell, p); return shown }) {
			text += " " + short[p] + ": " + meaning[p] + "."
		}
	}
	return text
}

// colours of the marks on a terminal.
var colours = map[tone]text.Colors{
	good: {text.FgGreen}, bad: {text.FgRed, text.Bold}, warn: {text.FgYellow}, unsure: {text.FgYellow, text.Bold}, quiet: {text.Faint},
}

// tableCell is a line for each of the marks that the page shows too.
func tableCell(c result.Cell, width int, colour bool) string {
	var lines []string
	add := func(t tone, words string) {
		for line := range strings.SplitSeq(wrapped(plain(words), width), "\n") {
			if colour {
				line = colours[t].Sprint(line)
			}
			lines = append(lines, line)
		}
	}
	for _, p := range []checkers.Property{checkers.LeaseExclusion, checkers.StaleOverwrite} {
		f := c.Properties[p]
		m := lockMark(c)
		if p == checkers.StaleOverwrite {
			m = dataMark(c)
		}
		add(m.Tone, tableLine(m, p, f))
	}
	if m := lossMark(c); m.Tone != "" {
		add(m.Tone, tableLine(m, checkers.RMWAtomic, c.Properties[checkers.RMWAtomic]))
	}
	for _, p := range secondary {
		if m, ok := otherMark(c, p); ok {
			add(m.Tone, tableLine(m, p, c.Properties[p]))
		}
	}
	m := promiseMark(c)
	if m.Tone == good {
		m.Tone = quiet
	}
	add(m.Tone, m.Text)
	return strings.Join(lines, "\n")
}

func tableLine(m mark, p checkers.Property, f checkers.Finding) string {
	line := fmt.Sprintf("%s %-5s ", m.Sign(), short[p])
	switch f.Verdict {
	case checkers.Holds, checkers.Violated:
		return line + fmt.Sprintf("%d in %d", f.Count, f.Exposures)
	case checkers.NotApplicable:
		return line + "none"
	case "":
		return line + "not judged"
	}
	return line + string(f.Verdict)
}

// wrapped breaks a text between words into lines of at most width columns; a
// word that is longer than a line is broken too.
func wrapped(s string, width int) string {
	var lines []string
	line := ""
	for word := range strings.SplitSeq(s, " ") {
		if line != "" && text.StringWidth(line+" "+word) > width {
			lines, line = append(lines, strings.TrimRight(line, " ")), ""
		}
		if line != "" {
			line += " "
		}
		line += word
		for text.StringWidth(line) > width {
			head := text.Trim(line, width)
			lines, line = append(lines, head), line[len(head):]
		}
	}
	return strings.ReplaceAll(strings.Join(append(lines, line), "\n"), "\u00a0", " ")
}

// plain takes out what could move the cursor or colour the terminal.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, s)
}
