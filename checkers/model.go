package checkers

import (
	"fmt"
	"html"

	"github.com/anishathalye/porcupine"
	"github.com/torture-harness/torture/harness/history"
)

// state is what a sequential store knows after some writes.
//
// Grants are an interval order (g is older than h iff g's acquire returned
// before h's was called), so one number remembers all grants that have written:
// newest, the largest call of their acquires. A write is older than some grant
// that has written iff its own acquire returned before newest.
type state struct {
	current int32 // number of the current write
	newest  int64
}

// initial is the number of the document every resource starts with.
const initial int32 = 0

// anyWrite as a basis fits every state: the basis was left out of a piece.
const anyWrite int32 = -1

// step is a read or a write as a model sees it.
type step struct {
	write     bool
	id        int32 // written or seen
	basis     int32
	grantCall int64
	grantRet  int64
	op        *history.Operation
}

func (s state) older(w *step) bool { return w.grantRet < s.newest }
func (s state) on(w *step) bool    { return w.basis == s.current || w.basis == anyWrite }

// rule says whether a write that took effect was legal in state s.
type rule func(s state, w *step) bool

func (s state) after(w *step) state {
	return state{current: w.id, newest: max(s.newest, w.grantCall)}
}

// numbering gives the writes of one resource small numbers.
type numbering map[string]int32

func number(e *evidence) numbering {
	n := numbering{history.InitialWrite: initial}
	for _, w := range e.writes {
		n[w.op.WriteID] = int32(len(n))
	}
	return n
}

// step is a write as a model sees it.
func (e *evidence) step(w *write) *step {
	basis := anyWrite
	if w.op.Basis == history.InitialWrite {
		basis = initial
	} else if b := e.byID[w.op.Basis]; b != nil {
		basis = b.number
	}
	return &step{
		write: true, id: w.number, basis: basis,
		grantCall: w.grant.call, grantRet: w.grant.ret, op: w.op,
	}
}

func (n numbering) write(w *write) *step {
	basis, there := n[w.op.Basis]
	if !there {
		basis = anyWrite
	}
	return &step{
		write: true, id: n[w.op.WriteID], basis: basis,
		grantCall: w.grant.call, grantRet: w.grant.ret, op: w.op,
	}
}

// operations is the reduced history of one resource for Porcupine.
func operations(e *evidence) []porcupine.Operation {
	n := number(e)
	clients := map[string]int{}
	client := func(op *history.Operation) int {
		if _, known := clients[op.Client]; !known {
			clients[op.Client] = len(clients)
		}
		return clients[op.Client]
	}
	var out []porcupine.Operation
	for _, w := range e.writes {
		if w.effective {
			out = append(out, porcupine.Operation{ClientId: client(w.op), Input: n.write(w), Call: w.op.Call, Return: w.ret})
		}
	}
	for _, r := range e.reads {
		out = append(out, porcupine.Operation{ClientId: client(r), Input: &step{id: n[r.WriteID], op: r}, Call: r.Call, Return: r.Return})
	}
	return out
}

// porcupineModel makes a Porcupine model of a rule. A rule that does not look
// at newest is not given it: fewer states, a faster search.
func porcupineModel(legal rule, usesNewest bool, from state) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return from },
		Step: func(st, input, _ any) (bool, any) {
			s, in := st.(state), input.(*step)
			if !in.write {
				return in.id == s.current, st
			}
			if !legal(s, in) {
				return false, st
			}
			next := s.after(in)
			if !usesNewest {
				next.newest = s.newest
			}
			return true, next
		},
		Hash:              func(st any) uint64 { s := st.(state); return mix(uint64(s.current)) ^ mix(uint64(s.newest)+1) },
		DescribeOperation: func(input, _ any) string { return describe(input.(*step)) },
		DescribeState:     func(st any) string { return fmt.Sprintf("#%d", st.(state).current) },
	}
}

// mix is the finalizer of splitmix64 (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// describe is put into a page as HTML by Porcupine's visualizer.
func describe(s *step) string {
	if !s.write {
		return html.EscapeString(fmt.Sprintf("%s → %s (#%d)", s.op.Kind, s.op.WriteID, s.id))
	}
	text := fmt.Sprintf("write %s (#%d) on %s", s.op.WriteID, s.id, s.op.Basis)
	if s.op.Grant != "" {
		text += " under " + s.op.Grant
	}
	if s.op.Token != 0 {
		text += fmt.Sprintf(" token %d", s.op.Token)
	}
	return html.EscapeString(text)
}

// answer is what one way of deciding says about one resource.
type answer int

const (
	unknown answer = iota
	legal
	illegal
)
