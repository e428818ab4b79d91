package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/torture-harness/torture/harness/history"
)

// picture is a timeline to scale: one lane per worker on one resource, and one
// for the store. The template turns it into SVG; all lengths are in its units.
type picture struct {
	Width, Height px
	Title         string
	Left, Right   px // of the part that is to scale
	Top, Bottom   px // of the lanes
	Ticks         []label
	Names         []label
	Bars          []bar
	Lines         []line
	Marks         []glyph
	Labels        []label
	Arc           *arc

	from, to int64 // ns, what Left and Right stand for
	start    int64 // ns, the story's 0.00 s
	lanes    []*lane
}

// px is a length in the picture, printed with one decimal.
type px float64

func (p px) String() string { return fmt.Sprintf("%.1f", float64(p)) }

type bar struct {
	X, Y, W, H px
	Class      string
	Title      string // shown on hover
}

type line struct {
	X1, Y1, X2, Y2 px
	Class          string
}

type glyph struct {
	X, Y  px
	Kind  string // read, write, refused, ask
	Class string
	Title string
}

type label struct {
	X, Y   px
	Text   string
	Class  string
	Anchor string // start, middle, end
}

// arc joins a write with the one that it replaced, or that stood in its way.
type arc struct {
	Path  string
	Class string
	Label label
}

// lane is a worker's row.
type lane struct {
	Worker string
	Role   string
	Class  string
	Notes  []label // above the bar, X only; placed by placeNotes
	Bar    px      // top of its bar
}

// The measures of a picture.
const (
	pictureWidth = 1000
	laneLeft     = 116
	laneRight    = 984
	axisHeight   = 34
	noteHeight   = 17
	leaseHeight  = 5
	barHeight    = 20
	laneGap      = 22
	storeHeight  = 26
	arcHeight    = 40
)

// draw makes the picture of a story. turns are those that it tells, by their
// beginning; c is the operations that it is about.
func draw(s *scene, st story, turns []*turn, c cast) *picture {
	p := &picture{Width: pictureWidth, Left: laneLeft, Right: laneRight, Title: st.Title, start: st.start}
	p.window(st, turns)
	p.choose(s, turns)
	told := map[*turn]bool{}
	for _, t := range turns {
		told[t] = true
	}
	for _, l := range p.lanes {
		p.notes(s, l, turns, c)
	}
	y := px(axisHeight)
	for _, l := range p.lanes {
		rows := p.placeNotes(l, y)
		l.Bar = y + px(rows*noteHeight) + 2*leaseHeight
		y = l.Bar + barHeight + laneGap
	}
	p.Top, p.Bottom = axisHeight, y+storeHeight
	for _, l := range p.lanes {
		p.lane(s, l, told)
	}
	p.store(s, y, told, c)
	p.join(s, y+storeHeight, c)
	p.axis()
	p.Height = p.Bottom + 12
	if p.Arc != nil {
		p.Height = p.Bottom + arcHeight + 10
	}
	return p
}

// window is the story's time with a margin.
func (p *picture) window(st story, turns []*turn) {
	p.from, p.to = st.Steps[0].At, st.Steps[len(st.Steps)-1].At
	for _, t := range turns {
		// A release long after the story is none of it.
		p.to = max(p.to, min(t.End, p.to+(p.to-p.from)/5))
	}
	margin := max((p.to-p.from)/25, 1e6)
	p.from, p.to = p.from-margin, p.to+margin
}

// choose makes the lanes: the story's workers first, then those who did
// something on the resource meanwhile.
func (p *picture) choose(s *scene, turns []*turn) {
	add := func(worker, role string) {
		if worker == "" || slices.ContainsFunc(p.lanes, func(l *lane) bool { return l.Worker == worker }) {
			return
		}
		const colours = 5
		p.lanes = append(p.lanes, &lane{Worker: worker, Role: role, Class: fmt.Sprintf("a%d", min(len(p.lanes), colours-1))})
	}
	roles := []string{"old holder", "new holder", "later holder"}
	for i, t := range turns {
		role := ""
		if t.Acquire != nil && i < len(roles) {
			role = roles[i]
		}
		add(t.Worker, role)
	}
	for i := range s.Ops {
		if op := &s.Ops[i]; ended(op) > p.from && op.Call < p.to {
			add(op.Worker, "")
		}
	}
}

// x is the place of a moment, clamped to the window.
func (p *picture) x(at int64) px {
	at = min(max(at, p.from), p.to)
	return laneLeft + px(float64(at-p.from)/float64(p.to-p.from)*(laneRight-laneLeft))
}

func (p *picture) inside(at int64) bool { return at >= p.from && at <= p.to }

func (p *picture) at(ns int64) string { return seconds(ns - p.start) }

// notes collects the words that stand above a lane's bar.
func (p *picture) notes(s *scene, l *lane, turns []*turn, c cast) {
	note := func(at int64, text, class string) {
		l.Notes = append(l.Notes, label{X: p.x(at), Text: text, Class: class})
	}
	for _, t := range turns {
		if t.Worker != l.Worker {
			continue
		}
		for _, op := range t.told() {
			switch {
			case op.Kind == history.Acquire && op.Outcome == history.OK:
				text := "got the lock"
				if op.Token > 0 {
					text = fmt.Sprintf("got the lock (%d)", op.Token)
				}
				note(op.Return, text, "")
			case (op.Kind == history.Read || op.Kind == history.Claim) && op.Outcome == history.OK:
				note(op.Return, "read "+s.name(op.WriteID), "")
			case op.Kind == history.Write:
				p.noteWrite(s, op, c, note)
			}
		}
		if _, to, ok := t.lease(); ok && to < t.End && p.inside(to) {
			text := "lease ends"
			if s.gone(t) > to {
				text = "lease runs out"
			}
			note(to, text, "faint")
		}
	}
}

func (p *picture) noteWrite(s *scene, op *history.Operation, c cast, note func(int64, string, string)) {
	_, accepted := s.version[op.WriteID]
	text, class := string(op.Outcome)+" write", ""
	switch {
	case accepted:
		text = "wrote " + s.name(op.WriteID)
	case op.Outcome == history.Rejected:
		text = "write refused"
	}
	switch op {
	case c.late:
		text, class = "late: "+text, "bad"
	case c.blamed():
		class = "bad"
		if !accepted {
			class = "good"
		}
	}
	note(s.when(op), text, class)
}

// placeNotes puts a lane's notes into as few rows as they need without
// touching each other, the rows growing upwards from the bar, and returns the
// number of rows. top is the upper edge of the lane.
func (p *picture) placeNotes(l *lane, top px) int {
	slices.SortStableFunc(l.Notes, func(a, b label) int { return cmp.Compare(a.X, b.X) })
	var notes []label
	for _, n := range l.Notes {
		const together = 18
		if k := len(notes) - 1; k >= 0 && n.X-notes[k].X < together && n.Class == notes[k].Class {
			notes[k].Text += ", " + n.Text
			continue
		}
		notes = append(notes, n)
	}
	// From the right, so that a note's line down to the bar meets no other note.
	var ends []px // per row, where the note to the right begins
	rows := make([]int, len(notes))
	left := make([]px, len(notes))
	for i := len(notes) - 1; i >= 0; i-- {
		width := textWidth(notes[i].Text)
		left[i] = max(laneLeft, min(notes[i].X, laneRight-width))
		row := 0
		for row < len(ends) && left[i]+width+10 > ends[row] {
			row++
		}
		if row == len(ends) {
			ends = append(ends, math.MaxFloat64)
		}
		rows[i], ends[row] = row, left[i]
	}
	base := top + px(len(ends)*noteHeight)
	for i, n := range notes {
		y := base - px(rows[i]*noteHeight) - 5
		p.Labels = append(p.Labels, label{X: left[i], Y: y, Text: n.Text, Class: n.Class, Anchor: "start"})
		p.Lines = append(p.Lines, line{n.X, y + 3, n.X, base + 2*leaseHeight, "leader"})
	}
	return len(ends)
}

// textWidth is about how wide a text is, rather too wide than too narrow.
func textWidth(text string) px { return px(6.7 * float64(len([]rune(text)))) }

// lane draws what a worker did, and what was done to it.
func (p *picture) lane(s *scene, l *lane, told map[*turn]bool) {
	p.Names = append(p.Names, label{X: 12, Y: l.Bar + 9, Text: l.Worker, Class: "name " + l.Class, Anchor: "start"})
	if l.Role != "" {
		p.Names = append(p.Names, label{X: 12, Y: l.Bar + 24, Text: l.Role, Class: "faint", Anchor: "start"})
	}
	p.Bars = append(p.Bars, bar{laneLeft, l.Bar, laneRight - laneLeft, barHeight, "track", ""})
	for _, t := range s.ordered() {
		if t.Worker == l.Worker && t.Begin < p.to && t.End > p.from {
			p.turn(s, l, t, told[t])
		}
	}
	for i := range s.Ops {
		op := &s.Ops[i]
		if op.Worker == l.Worker && op.Kind == history.Acquire && op.Outcome != history.OK && p.inside(op.Call) {
			p.Marks = append(p.Marks, glyph{p.x(op.Call), l.Bar + barHeight - 5, "ask", l.Class,
				fmt.Sprintf("%s asked for the lock at %s: %s", op.Worker, p.at(op.Call), op.Outcome)})
		}
	}
	for _, pause := range s.Pauses {
		if pause.Worker == l.Worker && pause.From < p.to && pause.To > p.from && (!pause.Delay || pause.Bytes[s.Resource] > 0) {
			p.pause(l, pause)
		}
	}
}

// turn draws a turn's lease above the bar, and on the bar the time in which
// its client took itself for the holder.
func (p *picture) turn(s *scene, l *lane, t *turn, told bool) {
	class := l.Class
	if !told {
		class += " dim"
	}
	if created, to, ok := t.lease(); ok {
		from, made := created, ""
		if s.Header.LeaseBy == "etcd" && t.Acquire != nil && t.Begin > created {
			// An etcd lease is an object of its own, made before the key that is the lock:
			// until then the lock may still be somebody else's.
			from, made = min(t.Begin, to), fmt.Sprintf("; its lease object was made at %s, a little before the key", p.at(created))
		}
		if t.Release != nil {
			to = min(to, t.Release.Call)
		}
		y := l.Bar - 2*leaseHeight + 2
		p.Bars = append(p.Bars, bar{p.x(from), y, max(p.x(to)-p.x(from), 1), leaseHeight, "lease " + class,
			fmt.Sprintf("%s’s lease: %s to %s%s", l.Worker, p.at(from), p.at(to), made)})
		if gone := s.gone(t); gone > to && (t.Release == nil || t.Release.Call > to) {
			p.Bars = append(p.Bars, bar{p.x(to), y, p.x(gone) - p.x(to), leaseHeight, "fading " + class,
				fmt.Sprintf("%s’s lease had run out; removed between %s and %s", l.Worker, p.at(to), p.at(gone))})
		}
	}
	what := "believed that it held the lock"
	if t.Acquire == nil {
		what = "was working on what it had read"
	}
	p.Bars = append(p.Bars, bar{p.x(t.Begin), l.Bar, max(p.x(t.End)-p.x(t.Begin), 2), barHeight, "hold " + class,
		fmt.Sprintf("%s %s: %s to %s", l.Worker, what, p.at(t.Begin), p.at(t.End))})
	for _, op := range t.told() {
		reads := op.Kind == history.Read || op.Kind == history.Claim
		if reads && op.Outcome == history.OK && p.inside(op.Return) {
			p.Marks = append(p.Marks, glyph{p.x(op.Return), l.Bar + barHeight/2, "read", class,
				fmt.Sprintf("%s read %s at %s", l.Worker, s.name(op.WriteID), p.at(op.Return))})
		}
	}
}

func (p *picture) pause(l *lane, pause history.Pause) {
	to := min(pause.To, p.to)
	who, did := l.Worker, "stopped"
	if pause.Delay {
		who, did = l.Worker+"’s write", "held"
	}
	text := fmt.Sprintf("%s for %s", did, seconds(pause.To-pause.From))
	title := fmt.Sprintf("%s was %s from %s to %s", who, did, p.at(pause.From), p.at(to))
	if pause.To == history.Never {
		text, title = did, fmt.Sprintf("%s was %s at %s and never went on", who, did, p.at(pause.From))
	}
	x, w := p.x(pause.From), p.x(to)-p.x(pause.From)
	p.Bars = append(p.Bars, bar{x, l.Bar - 1, w, barHeight + 2, "pause", title})
	for _, short := range []string{text, did} {
		if width := textWidth(short) + 14; width < w {
			p.Bars = append(p.Bars, bar{x + (w-width)/2, l.Bar + 2, width, barHeight - 4, "plate", ""})
			p.Labels = append(p.Labels, label{x + w/2, l.Bar + 14.5, short, "", "middle"})
			return
		}
	}
}

// ordered is all turns by their beginning.
func (s *scene) ordered() []*turn {
	var turns []*turn
	for _, t := range s.turns {
		turns = append(turns, t)
	}
	slices.SortFunc(turns, func(a, b *turn) int {
		return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.Worker, b.Worker))
	})
	return turns
}

// axis writes seconds above the lanes.
func (p *picture) axis() {
	const most = 12
	length := float64(p.to-p.from) / 1e9
	every := 0.01
	for _, next := range []float64{0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 300} {
		if length/every > most {
			every = next
		}
	}
	first := math.Ceil(float64(p.from-p.start) / 1e9 / every)
	for i := first; ; i++ {
		at := p.start + int64(i*every*1e9)
		if at > p.to {
			break
		}
		text := fmt.Sprintf("%g s", math.Round(i*every*100)/100+0) // + 0 for −0
		p.Ticks = append(p.Ticks, label{p.x(at), axisHeight - 14, text, "faint", "middle"})
	}
}
