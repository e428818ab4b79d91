package checkers

import "github.com/torture-harness/torture/harness/history"

// survey takes down what is asked again and again.
func (c *cell) survey() {
	c.kinds, c.stalls = map[history.Kind]bool{}, map[string]*spans[[2]int64]{}
	for i := range c.h.Operations {
		c.kinds[c.h.Operations[i].Kind] = true
	}
	for _, ev := range c.h.Events {
		if ev.Type != history.TypeStall {
			continue
		}
		if c.stalls[ev.Worker] == nil {
			c.stalls[ev.Worker] = &spans[[2]int64]{}
		}
		c.stalls[ev.Worker].add(ev.Time-ev.Gap, ev.Time, [2]int64{ev.Time - ev.Gap, ev.Time})
	}
	for _, s := range c.stalls {
		s.sort()
	}
}

func (c *cell) sortPauses() {
	for _, p := range c.pauses {
		c.stops.add(p.From, p.To, p)
		if p.Delay {
			c.delays.add(p.From, p.To, p)
		}
	}
	c.stops.sort()
	c.delays.sort()
}

// victim is what a worker did that a pause of it may have hit.
type victim struct {
	held         spans[holding] // from being given the lock to the last call under it
	heldToReturn spans[holding] // or to the last return
	sent         spans[written] // from the call of a write to its return
	updates      spans[written] // from having read to the call of the write
}

type holding struct {
	*grant
	e *evidence
}

type written struct {
	*write
	e *evidence
}

// exposeToPauses takes down by worker what pauses may have hit.
func (c *cell) exposeToPauses() {
	c.victims = map[string]*victim{}
	of := func(worker string) *victim {
		if c.victims[worker] == nil {
			c.victims[worker] = &victim{}
		}
		return c.victims[worker]
	}
	for _, e := range c.resources {
		for _, g := range e.grants {
			called, returned := int64(past), int64(past)
			for _, op := range g.under {
				called, returned = max(called, op.Call), max(returned, op.Call, op.Return)
			}
			v := of(g.worker)
			v.held.add(g.ret, called, holding{g, e})
			v.heldToReturn.add(g.ret, returned, holding{g, e})
		}
		for _, w := range e.writes {
			v := of(w.op.Worker)
			v.sent.add(w.op.Call, w.op.Return, written{w, e})
			v.updates.add(w.basis.Return, w.op.Call, written{w, e})
		}
	}
	for _, v := range c.victims {
		v.held.sort()
		v.heldToReturn.sort()
		v.sent.sort()
		v.updates.sort()
	}
	c.asked = map[bool]*spans[*history.Operation]{true: {}, false: {}}
	for i := range c.h.Operations {
		if op := &c.h.Operations[i]; op.Worker != "" {
			store := op.Kind == history.Read || op.Kind == history.Claim || op.Kind == history.Write
			c.asked[store].add(op.Call, op.Return, op)
		}
	}
	c.asked[true].sort()
	c.asked[false].sort()
}
