package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/torture-harness/torture/checkers"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"count":   count,
	"date":    date,
	"clip":    clip,
	"ms":      milliseconds,
	"plural":  plural,
	"explain": func(fault string) string { return faults[fault] },
	"listed":  listed,
	"ran":     provided,
	"reason":  explained,
	"keyed":   func(p *picture, id string, i int) keyed { return keyed{p, fmt.Sprintf("%s-%d", id, i)} },
}).Parse(pageText))

// page is what the template is given.
type page struct {
	*run
	Answer  answer
	Style   template.CSS
	Rows    []pageRow
	Columns []string
	Tales   []*pageCell // the cells that have a story
	Quiet   []*pageCell // those that have none
	Missing []string    // cells whose evidence could not be read
	Servers []pair
	Digests []pair
	Replay  string
	Load    string // that the machine was too busy, if it was
	Check   string
}

type pageRow struct {
	Strategy string
	About    string
	Safety   safety
	Boxes    []*pageCell // one per column; nil if it was not run
}

// pageCell is one cell of the matrix with everything that belongs to it.
type pageCell struct {
	*cell
	marks
	ID         string
	Stories    []story
	Why        []string  // the status is not pass, apart from load
	Closes     *pageCell // tells what closes the gap of this cell's story
	Findings   []pageFinding
	Porcupines []pair // name and path of Porcupine's own pictures
}

type pageFinding struct {
	checkers.Finding
	Property checkers.Property
	Tone     tone
}

type pair struct{ Name, Value string }

// keyed is a picture with a name for its parts that is unique on the page.
type keyed struct {
	Picture *picture
	Key     string
}

// listed is "a, b and c" with each name apart, to be marked up.
func listed(names []string) []pair {
	var out []pair
	for i, name := range names {
		before := ", "
		switch i {
		case 0:
			before = ""
		case len(names) - 1:
			before = " and "
		}
		out = append(out, pair{before, name})
	}
	return out
}

// render writes the page. porcupines are, by cell folder, the pictures that
// Porcupine made, as paths relative to the page.
func render(w io.Writer, r *run, porcupines map[string][]pair) error {
	p := page{
		run:     r,
		Answer:  answerOf(r),
		Style:   template.CSS(pageStyle),
		Columns: r.faults(),
		Servers: sorted(r.Versions),
		Digests: sorted(r.Images),
		Replay:  pasted(r.Command),
		Check:   pasted("torture check " + r.Dir),
		Load:    r.loadLine(),
	}
	for _, name := range r.strategies() {
		row := pageRow{Strategy: name, Safety: safetyOf(r, name)}
		for _, fault := range p.Columns {
			c := r.cell(name, fault)
			if c == nil {
				row.Boxes = append(row.Boxes, nil)
				continue
			}
			box := &pageCell{cell: c, marks: marksOf(c.Cell), ID: anchor(name, fault), Porcupines: porcupines[c.Dir]}
			if c.Status != checkers.Pass {
				box.Why = reasons(c.Cell)
			}
			if c.Problem == "" {
				box.Stories = tell(c)
			} else {
				p.Missing = append(p.Missing, fmt.Sprintf("%s under %s: %s", name, fault, c.Problem))
			}
			box.Findings = findings(c)
			row.About = describe(c.History.Header)
			row.Boxes = append(row.Boxes, box)
			if len(box.Stories) > 0 {
				p.Tales = append(p.Tales, box)
			} else {
				p.Quiet = append(p.Quiet, box)
			}
		}
		p.Rows = append(p.Rows, row)
	}
	for _, c := range p.Tales {
		c.Closes = closing(c, p.Tales)
	}
	return pageTemplate.Execute(w, p)
}

// closing is the cell whose story shows what closes the gap that a fence
// leaves: the one in which claims raise it, under the same fault if possible.
func closing(c *pageCell, tales []*pageCell) *pageCell {
	if c.History.Header.Guard != "fenced" {
		return nil
	}
	var found *pageCell
	for _, other := range tales {
		claims := other.History.Header.Guard == "claim" && other.Stories[0].Tone == good
		if claims && (found == nil || other.Fault == c.Fault) {
			found = other
		}
	}
	return found
}

// Lost says whether a story is one of an update that was lost behind a fence.
func (s story) Lost() bool { return s.Property == checkers.RMWAtomic }

// findings lists the properties of a cell in the order in which they are shown.
func findings(c *cell) []pageFinding {
	tones := map[checkers.Verdict]tone{checkers.Holds: good, checkers.Violated: bad, checkers.NotApplicable: quiet}
	var out []pageFinding
	for _, p := range checkers.Properties {
		f, ok := c.Properties[p]
		if !ok {
			continue
		}
		t := tones[f.Verdict]
		if t == "" {
			t = unsure
		}
		if f.Verdict == checkers.Violated && f.Contract != checkers.Promised && p == checkers.RMWAtomic {
			t = warn
		}
		out = append(out, pageFinding{f, p, t})
	}
	return out
}

// anchor is an id made of letters, digits and dashes only.
func anchor(parts ...string) string {
	return "cell-" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.Join(parts, "-"))
}

func sorted(m map[string]string) []pair {
	var out []pair
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, pair{k, m[k]})
	}
	return out
}

// Sign is the finding's tone without colour.
func (f pageFinding) Sign() string { return sign[f.Tone] }

// ByPause is in how many of the pauses in which a property was at risk it was
// violated, with the 95 % interval of that rate.
func (f pageFinding) ByPause() string {
	if f.Pauses == 0 {
		return ""
	}
	low, high := checkers.Interval(f.PausesHit, f.Pauses)
	return fmt.Sprintf("%s of %s (%.0f–%s)", count(f.PausesHit), count(f.Pauses), low*100, percent(high))
}

// Landed is how many of the pauses hit what they had been aimed at.
func (c *pageCell) Landed() string {
	if c.Pauses == 0 {
		return "–"
	}
	return fmt.Sprintf("%s of %s", count(c.PausesLanded), count(c.Pauses))
}

// First is when the first anomaly happened.
func (c *pageCell) First() string {
	if c.FirstAnomaly == nil {
		return "–"
	}
	return milliseconds(*c.FirstAnomaly)
}

// Colour is the class of a beat's actor, so that a worker has one colour in
// words and picture.
func (s story) Colour(b beat) string {
	if s.Picture == nil {
		return ""
	}
	for _, l := range s.Picture.lanes {
		if l.Worker == b.Actor() {
			return l.Class
		}
	}
	return ""
}

// Length is how long the picture's window is.
func (p *picture) Length() string { return seconds(p.to - p.from) }

// Etcd says whether the leases of the story end by etcd's clock.
func (c *pageCell) Etcd() bool { return c.History.Header.LeaseBy == "etcd" }

// Locked says whether there is a lock at all.
func (c *pageCell) Locked() bool {
	return c.History.Header.Locker != "none" && c.History.Header.Locker != ""
}
