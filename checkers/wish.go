package checkers

import (
	"cmp"
	"slices"

	"github.com/torture-harness/torture/harness/history"
)

// wish is a stretch of time in which a client wanted the lock.
type wish struct {
	client   string
	from, to int64
	grant    string // the one it ended with, "" if it was in vain
}

// wanted is what clients said of their wishes.
type wanted struct {
	events map[string][]*history.Event // by resource
	killed map[string]int64
	end    int64 // of the history
}

func wantedBy(h *history.History) wanted {
	out := wanted{events: map[string][]*history.Event{}, killed: kills(h)}
	if n := len(h.Operations); n > 0 {
		out.end = h.Operations[n-1].Call
	}
	for i := range h.Events {
		if ev := &h.Events[i]; ev.Type == history.TypeWant || ev.Type == history.TypeGiveUp {
			out.events[ev.Resource] = append(out.events[ev.Resource], ev)
		}
	}
	return out
}

// wishes are those of all clients for one resource, by their beginnings. A wish
// begins when the client says so, or else with its first attempt; it ends with
// a grant, when the client gives up or is killed, or with its last attempt.
func wishes(e *evidence, want wanted) []wish {
	type moment struct {
		at     int64
		client string
		change func(w *wish) (over bool)
	}
	var moments []moment
	keep := func(*wish) bool { return false }
	for _, a := range e.attempts {
		moments = append(moments,
			moment{a.Call, a.Client, keep},
			moment{a.Completed, a.Client, func(w *wish) bool {
				if w.to = max(w.to, a.Completed); a.Outcome != history.OK {
					return false
				}
				w.grant = a.ID
				return true
			}})
	}
	for _, ev := range want.events[e.name] {
		switch ev.Type {
		case history.TypeWant:
			until := want.end
			if at, dead := want.killed[ev.Worker]; dead {
				until = at
			}
			moments = append(moments, moment{ev.Time, ev.Client, func(w *wish) bool { w.to = max(w.to, until); return false }})
		case history.TypeGiveUp:
			moments = append(moments, moment{ev.Time, ev.Client, func(w *wish) bool { w.to = ev.Time; return true }})
		}
	}
	slices.SortStableFunc(moments, func(a, b moment) int { return cmp.Compare(a.at, b.at) })

	var out []wish
	open := map[string]*wish{}
	for _, m := range moments {
		w := open[m.client]
		if w == nil {
			w = &wish{client: m.client, from: m.at, to: m.at}
			open[m.client] = w
		}
		if m.change(w) {
			if w.grant != "" {
				w.to = m.at
			}
			out = append(out, *w)
			delete(open, m.client)
		}
	}
	for _, w := range open {
		out = append(out, *w)
	}
	slices.SortFunc(out, func(a, b wish) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.client, b.client)) })
	return out
}

// kills are the moments in which workers were killed.
func kills(h *history.History) map[string]int64 {
	killed := map[string]int64{}
	for _, f := range h.Faults {
		if f.Phase == history.Killed {
			killed[f.Victim] = f.Time
		}
	}
	for _, ev := range h.Events {
		if ev.Type == history.TypeWorker && ev.Status == "killed" {
			killed[ev.Worker] = ev.Time
		}
	}
	return killed
}

// joined are the stretches in which at least one client wanted the lock.
func joined(all []wish) []wish {
	var out []wish
	for _, w := range all {
		if last := len(out) - 1; last >= 0 && w.from <= out[last].to {
			out[last].to = max(out[last].to, w.to)
			continue
		}
		out = append(out, w)
	}
	return out
}
