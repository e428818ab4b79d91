package history

import (
	"cmp"
	"slices"
)

// Pauses are the stops and delays that happened, by their beginning: from the
// moment all threads of a worker or server had been seen stopped, or its requests
// held, to the moment immediately before it was let go on.
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
		case Held:
			p.From, p.Delay = f.Time, true
		case Resumed, Released:
			p.To = f.Time
		}
		p.Point = cmp.Or(f.Point, p.Point)
		p.Detail = cmp.Or(f.Detail, p.Detail)
		if f.Bytes != nil {
			p.Bytes = f.Bytes // at the release: only what had been held all along
		}
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

// Delays reports whether an operation was under way and not executed from the
// pause's beginning to its end: it had been called before its request was seen
// to be held, and returned after it was let go.
func (p Pause) Delays(op *Operation) bool {
	return p.Delay && p.To != Never && op.Worker == p.Worker && p.Bytes[op.Resource] > 0 && op.Call <= p.From && op.Return >= p.To
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
