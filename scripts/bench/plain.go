package main

import (
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
)

// plainly asks Porcupine the way one does who has read its documentation: the
// model, all operations as they were recorded, a partition per resource, a
// timeout. A write of unknown outcome may happen at any time up to the end.
func plainly(h *history.History, p checkers.Property) string {
	byResource := map[string][]porcupine.Operation{}
	acquired := map[string]*history.Operation{}
	clients := map[string]int{}
	var parts []string
	for i := range h.Operations {
		o := &h.Operations[i]
		if o.Kind == history.Acquire {
			acquired[o.ID] = o
		}
		took := o.Outcome == history.OK || o.Outcome == history.Info
		if o.Kind != history.Write && o.Kind != history.Read || !took || o.Kind == history.Read && o.Outcome != history.OK {
			continue
		}
		if _, known := clients[o.Process]; !known {
			clients[o.Process] = len(clients)
		}
		if byResource[o.Resource] == nil {
			parts = append(parts, o.Resource)
		}
		in := input{write: o.Kind == history.Write, id: o.WriteID, basis: o.Basis}
		if g := acquired[o.Grant]; g != nil {
			in.call, in.ret = g.Call, g.Return
		}
		byResource[o.Resource] = append(byResource[o.Resource], porcupine.Operation{ClientId: clients[o.Process], Input: in, Call: o.Call, Return: o.Return})
	}
	worst, deadline := porcupine.Ok, time.Now().Add(searchFor)
	for _, r := range parts {
		left := max(time.Until(deadline), time.Millisecond)
		switch porcupine.CheckOperationsTimeout(plainModel(p), byResource[r], left) {
		case porcupine.Illegal:
			return "Illegal"
		case porcupine.Unknown:
			worst = porcupine.Unknown
		}
	}
	return string(worst)
}

// input of the model: a read, or a write with its grant.
type input struct {
	write     bool
	id, basis string
	call, ret int64 // of the grant's acquire
}

type document struct {
	current string
	newest  int64 // the largest call of an acquire under which was written
}

func plainModel(p checkers.Property) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return document{current: history.InitialWrite} },
		Step: func(state, in, _ any) (bool, any) {
			s, i := state.(document), in.(input)
			if !i.write {
				return i.id == s.current, s
			}
			if p == checkers.StaleOverwrite && i.ret < s.newest && i.basis != s.current {
				return false, s
			}
			return true, document{i.id, max(s.newest, i.call)}
		},
	}
}
