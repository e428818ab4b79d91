package report

import (
	"fmt"

	"github.com/torture-harness/torture/harness/history"
)

// store draws the row as the store had it: whose document it was, and every
// write that was refused. y is the upper edge of its lane.
func (p *picture) store(s *scene, y px, told map[*turn]bool, c cast) {
	p.Names = append(p.Names,
		label{X: 12, Y: y + 11, Text: "PostgreSQL", Class: "name", Anchor: "start"},
		label{X: 12, Y: y + 25, Text: "row " + clip(s.Resource, 9), Class: "faint", Anchor: "start"})
	class := map[string]string{}
	for _, l := range p.lanes {
		class[l.Worker] = l.Class
	}
	// One bar from each accepted write to the next; the first is what was there
	// when the window opens.
	type version struct {
		at    int64
		name  string
		class string
		title string
		texts []string
	}
	now := version{p.from, "v0", "first", "v0, the document that the row began with", []string{"v0"}}
	flush := func(to int64) {
		if to <= p.from || now.at >= p.to {
			return
		}
		x, w := p.x(now.at), p.x(to)-p.x(now.at)
		p.Bars = append(p.Bars, bar{x, y, max(w, 1), storeHeight, "version " + now.class, now.title})
		for _, text := range now.texts {
			if textWidth(text)+10 < w {
				p.Labels = append(p.Labels, label{x + w/2, y + 17, text, "on " + now.class, "middle"})
				break
			}
		}
	}
	for i, e := range s.Journal {
		at, ok := s.accepted(e)
		if !ok {
			continue
		}
		flush(at)
		op, name := s.write(e.WriteID), fmt.Sprintf("v%d", i+1)
		now = version{at: at, name: name, class: "first", title: fmt.Sprintf("%s, accepted at %s", name, p.at(at)), texts: []string{name}}
		if op == nil {
			continue
		}
		if own := class[op.Worker]; own != "" {
			now.class = own
		}
		if op == c.blamed() {
			now.class = "culprit"
		} else if !told[s.of(op)] {
			now.class += " dim"
		}
		now.title = fmt.Sprintf("%s by %s, computed from %s, accepted at %s", name, op.Worker, s.name(op.Basis), p.at(at))
		by := name + " by " + op.Worker
		now.texts = []string{by, name}
		if token := tokenOf(s, op); token > 0 {
			now.title += fmt.Sprintf(", token %d", token)
			now.texts = []string{fmt.Sprintf("%s, token %d", by, token), by, name}
		}
		if told[s.of(op)] && p.inside(at) {
			p.drop(op.Worker, at, y, now.class)
		}
		if p.inside(at) {
			p.Marks = append(p.Marks, glyph{p.x(at), y, "write", now.class, now.title})
		}
	}
	flush(p.to)
	p.refused(s, y, told, class)
}

// drop is the line from a worker's bar down to the store.
func (p *picture) drop(worker string, at int64, y px, class string) {
	for _, l := range p.lanes {
		if l.Worker == worker {
			p.Lines = append(p.Lines, line{p.x(at), l.Bar + barHeight, p.x(at), y, "drop " + class})
		}
	}
}

func (p *picture) refused(s *scene, y px, told map[*turn]bool, class map[string]string) {
	for i := range s.Ops {
		op := &s.Ops[i]
		sends := op.Kind == history.Write || op.Kind == history.Claim
		if !sends || op.Outcome != history.Rejected || !p.inside(ended(op)) {
			continue
		}
		title := fmt.Sprintf("a %s by %s was refused at %s", op.Kind, op.Worker, p.at(ended(op)))
		if token := tokenOf(s, op); token > 0 {
			title += fmt.Sprintf(", token %d", token)
		}
		if told[s.of(op)] {
			p.drop(op.Worker, ended(op), y, class[op.Worker])
		}
		p.Marks = append(p.Marks, glyph{p.x(ended(op)), y, "refused", class[op.Worker], title})
	}
}

// join draws the arrow from the culprit to the write that it replaced, or to
// the one that stood in its way. y is the lower edge of the store's lane.
func (p *picture) join(s *scene, y px, c cast) {
	culprit, target, class, text := c.culprit, c.overwritten, "bad", ""
	switch {
	case culprit == nil:
		return
	case c.late != nil:
		class = "warn"
		text = fmt.Sprintf("%s overwrites %s, which %s had not seen", s.name(culprit.WriteID), s.name(c.late.WriteID), culprit.Worker)
	case target != nil:
		text = fmt.Sprintf("replaces %s, which %s had never read", s.name(target.WriteID), culprit.Worker)
	case c.guard != nil:
		target, class, text = c.guard, "good", p.refusal(s, culprit, c.guard)
	default:
		return
	}
	from, to := p.x(s.when(culprit)), p.x(s.when(target))
	middle := (from + to) / 2
	half := textWidth(text) * 0.6 // bold
	p.Arc = &arc{
		Path:  fmt.Sprintf("M%s %s C%s %s %s %s %s %s", from, y+2, from, y+arcHeight*0.6, to, y+arcHeight*0.6, to, y+4),
		Class: class,
		Label: label{max(laneLeft+half, min(middle, laneRight-half)), y + arcHeight + 4, text, class, "middle"},
	}
}

func (p *picture) refusal(s *scene, culprit, guard *history.Operation) string {
	mine, theirs := tokenOf(s, culprit), tokenOf(s, guard)
	switch {
	case s.Header.Guard == "version":
		return fmt.Sprintf("refused: the row had moved on from the %s that %s had read", s.name(culprit.Basis), culprit.Worker)
	case guard.Kind == history.Claim:
		return fmt.Sprintf("refused: %d, for a claim had raised the fence to %d", mine, theirs)
	case mine > 0 && theirs > 0:
		return fmt.Sprintf("refused: token %d, for %d had already written", mine, theirs)
	}
	return "refused: a newer write was there"
}

// tokenOf is the token that an operation carried, or that its grant had.
func tokenOf(s *scene, op *history.Operation) int64 {
	if op.Token > 0 {
		return op.Token
	}
	if t := s.of(op); t != nil {
		return t.token()
	}
	return 0
}
