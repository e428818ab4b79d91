package history

import (
	"cmp"
	"slices"
)

// Pauses are the stops that happened, by their beginning: from the moment all
// threads of a worker had been seen stopped to the moment immediately before
// it was let go on.
func (h *History) Pauses() []Pause {
	byID := map[string]*Pause{}
	for _, f := range h.Faults {
		p := byID[f.ID]
		if p == nil {
			p = &Pause{ID: f.ID, Kind: f.Kind, Worker: f.Victim, To: Never}
			byID[f.ID] = p
		}
		switch f.Phase {
		case Stopped:
			p.From, p.Threads = f.Time, f.Threads
		case Resumed:
			p.To = f.Time
		}
		p.Point = cmp.Or(f.Point, p.Point)
		p.Detail = cmp.Or(f.Detail, p.Detail)
		if len(f.Written) > 0 {
			p.Written = f.Written
		}
		if len(f.Held) > 0 {
			p.Held = f.Held
		}
	}
	var out []Pause
	for _, p := range byID {
		if p.From > 0 {
			out = append(out, *p)
		}
	}
	slices.SortFunc(out, func(a, b Pause) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.ID, b.ID)) })
	return out
}

// ByResource splits the operations by resource; each part keeps the order by
// Call. Every resource of the header has a part, if an empty one.
func (h *History) ByResource() map[string][]Operation {
	parts := map[string][]Operation{}
	for _, r := range h.Header.Resources {
		parts[r] = nil
	}
	for _, op := range h.Operations {
		parts[op.Resource] = append(parts[op.Resource], op)
	}
	return parts
}
