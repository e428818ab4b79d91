package sequential

import (
	"context"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// answer is what one way of deciding says about one key.
type answer int

const (
	unknown answer = iota
	legal
	illegal
)

// limits are what one question may cost.
type limits struct {
	ctx    context.Context // ends all questions
	until  time.Time
	memory int64 // bytes
}

// within is a part of l.
func (l limits) within(d time.Duration) limits {
	if until := time.Now().Add(d); until.Before(l.until) {
		l.until = until
	}
	return l
}

func (l limits) over() bool { return l.ctx.Err() != nil || !time.Now().Before(l.until) }

// spent says which limit ended a search.
type spent string

const (
	spentTime   spent = "its budget of time"
	spentMemory spent = "its share of memory"
	interrupted spent = "an interruption"
)

// progress is a state on the way: how many completed operations stand before it.
type progress struct {
	state
	done int
}

// model is m for Porcupine. An unknown operation stays open to the end. It
// takes effect where it is legal; to take none, it stands behind all completed
// operations, where whatever it does goes unnoticed. So it is legal there always
// and elsewhere only with effect: exact, and nothing is tried twice.
// admit is asked before every step that is legal; refused ones end the search.
func (m *Model) model(es []entry, admit func() bool) porcupine.Model {
	completed := 0
	for _, e := range es {
		if !e.unknown {
			completed++
		}
	}
	return porcupine.Model{
		Init: func() any { return progress{state: initial} },
		Step: func(st, input, _ any) (bool, any) {
			p, e := st.(progress), input.(*entry)
			next, legal := m.apply(p.state, e.action)
			if !legal && !(e.unknown && p.done == completed) || !admit() {
				return false, st
			}
			if legal {
				p.state = next
			}
			if !e.unknown {
				p.done++
			}
			return true, p
		},
		Hash:              func(st any) uint64 { s := st.(progress); return mix(uint64(s.value)) ^ mix(uint64(s.token)+1) },
		DescribeOperation: func(input, _ any) string { return describe(input.(*entry)) },
		DescribeState:     func(st any) string { return m.describeState(es, st.(progress).state) },
	}
}

// mix is the finalizer of splitmix64 (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func operations(es []entry) []porcupine.Operation {
	clients := map[string]int{}
	out := make([]porcupine.Operation, len(es))
	for i := range es {
		e := &es[i]
		client, known := clients[e.op.Process]
		if !known {
			client = len(clients)
			clients[e.op.Process] = client
		}
		out[i] = porcupine.Operation{ClientId: client, Input: e, Call: e.call, Return: e.ret}
	}
	return out
}

// ask asks Porcupine about a reduced history. Each step of its search keeps a
// bit for every operation; where that outgrows the share of memory, every
// further step is refused, which ends the search, and its answer is not used.
func (m *Model) ask(es []entry, l limits) (answer, spent) {
	left := time.Until(l.until)
	if left <= 0 {
		return unknown, spentTime // Porcupine would take it for no limit
	}
	var stop atomic.Bool
	defer context.AfterFunc(l.ctx, func() { stop.Store(true) })()
	var used atomic.Int64
	perStep := int64(len(es)/8 + 150) // and what a map and its entry take
	model := m.model(es, func() bool {
		if used.Add(perStep) > l.memory {
			stop.Store(true)
		}
		return !stop.Load()
	})
	answer := porcupine.CheckOperationsTimeout(model, operations(es), left)
	switch {
	case l.ctx.Err() != nil:
		return unknown, interrupted
	case stop.Load():
		return unknown, spentMemory
	case answer == porcupine.Ok:
		return legal, ""
	case answer == porcupine.Illegal:
		return illegal, ""
	}
	return unknown, spentTime
}

// memoryShare is what each of n searches at a time may use: a part of what
// GOMEMLIMIT allows, or of two gigabytes.
func memoryShare(n int) int64 {
	const most = 2 << 30
	allowed := debug.SetMemoryLimit(-1) / 2
	return min(allowed, most) / int64(n)
}
