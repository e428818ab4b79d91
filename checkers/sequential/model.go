// Package sequential judges histories that others have recorded against
// sequential specifications: registers and mutexes. Porcupine
// (https://github.com/anishathalye/porcupine) is the judge of each independent
// key; where written values are unique, a check without a search decides what
// Porcupine cannot within its budget.
package sequential

import (
	"math"

	"github.com/torture-harness/torture/harness/foreign"
)

// Model is a sequential specification: a state, and which operations are legal
// in it.
type Model struct {
	Name     string
	About    string // one sentence
	Payloads foreign.Payloads

	read  func(op *foreign.Operation, in *interner) (action, error)
	apply func(s state, a action) (next state, legal bool)

	// register: reads observe what writes have written, so that unknown outcomes
	// can be reduced and clusters be formed (see reduce and clusters).
	register bool
}

// Models are all models, in the order of the documentation.
var Models = []*Model{&register, &casRegister, &mutex, &ownerMutex, &fencedRegister}

// Named is the model of that name; nil if there is none.
func Named(name string) *Model {
	for _, m := range Models {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// state is that of any model: a register's value, or a mutex' holder; and the
// largest token that a fenced register has seen.
type state struct {
	value int32
	token int64
}

// none is nil: what a register holds at first, and who holds a free mutex.
const none int32 = 0

// kind is what an action does.
type kind uint8

const (
	reads kind = iota
	writes
	swaps // compare-and-set
	acquires
	releases
)

// action is an operation as a model sees it: values are small numbers.
type action struct {
	kind  kind
	from  int32 // swaps: what it expects. reads: what it saw
	to    int32 // writes, swaps: what it leaves behind. acquires, releases: who
	token int64 // fenced writes

	// unknown: it may take effect at any time after its call, or never.
	unknown bool
}

// interner gives values small numbers; nil is none.
type interner map[string]int32

func (in interner) number(v foreign.Value) int32 {
	if v.Kind == foreign.Nil {
		return none
	}
	text := v.String()
	n, known := in[text]
	if !known {
		n = int32(len(in) + 1)
		in[text] = n
	}
	return n
}

var (
	one = foreign.One
	two = foreign.Two
)

// register is a value that reads return and writes replace.
var register = Model{
	Name:     foreign.Register,
	About:    "read returns the value last written",
	Payloads: foreign.Payloads{"read": one, "write": one},
	read:     readRegister, apply: applyRegister, register: true,
}

// casRegister is a register with a compare-and-set [from to], which takes
// effect iff the register holds from. One that failed certainly did not happen,
// and is dropped as Jepsen does: what it saw (not from) is not used, so a history
// is never called illegal for it.
var casRegister = Model{
	Name:     foreign.CASRegister,
	About:    "a register whose cas [from to] takes effect only if it holds from",
	Payloads: foreign.Payloads{"read": one, "write": one, "cas": two},
	read:     readRegister, apply: applyRegister, register: true,
}

func readRegister(op *foreign.Operation, in *interner) (action, error) {
	switch op.F {
	case "read":
		return action{kind: reads, from: in.number(op.Value)}, nil
	case "cas":
		from, to, _ := op.Value.Pair()
		return action{kind: swaps, from: in.number(from), to: in.number(to)}, nil
	}
	return action{kind: writes, to: in.number(op.Value)}, nil
}

func applyRegister(s state, a action) (state, bool) {
	switch a.kind {
	case reads:
		return s, s.value == a.from
	case swaps:
		return state{value: a.to}, s.value == a.from
	}
	return state{value: a.to}, true
}

// mutex is held or free. Anybody may release it; values say nothing.
var mutex = Model{
	Name:     foreign.Mutex,
	About:    "acquire needs a free mutex, release a held one, by anybody",
	Payloads: foreign.Payloads{"acquire": one, "release": one},
	read: func(op *foreign.Operation, _ *interner) (action, error) {
		return action{kind: lockKind(op), to: 1}, nil
	},
	apply: applyMutex,
}

// ownerMutex can be released only by its owner, which is the value of the
// operation, or its process if that is nil. It cannot be acquired twice.
var ownerMutex = Model{
	Name:     foreign.OwnerMutex,
	About:    "acquire needs a free mutex, release one that is held by the same owner",
	Payloads: foreign.Payloads{"acquire": one, "release": one},
	read: func(op *foreign.Operation, in *interner) (action, error) {
		owner := op.Value
		if owner.Kind == foreign.Nil {
			// Not a value, so that process 1 and the value 1 are two owners.
			owner = foreign.Value{Kind: foreign.Scalar, Text: "process " + op.Process}
		}
		return action{kind: lockKind(op), to: in.number(owner)}, nil
	},
	apply: applyMutex,
}

func lockKind(op *foreign.Operation) kind {
	if op.F == "acquire" {
		return acquires
	}
	return releases
}

func applyMutex(s state, a action) (state, bool) {
	if a.kind == acquires {
		return state{value: a.to}, s.value == none
	}
	return state{value: none}, s.value == a.to
}

// fencedRegister is a register whose writes [value token] carry a fencing
// token: a write is legal iff its token is not smaller than the largest token of
// any write before it (Kleppmann, "How to do distributed locking", 2016; with
// "not smaller" for "larger", for a holder may write twice). A write that the
// store refused has failed.
var fencedRegister = Model{
	Name:     foreign.Fenced,
	About:    "a register whose write [value token] needs a token that is not below any before it",
	Payloads: foreign.Payloads{"read": one, "write": two},
	read: func(op *foreign.Operation, in *interner) (action, error) {
		if op.F == "read" {
			return action{kind: reads, from: in.number(op.Value)}, nil
		}
		value, token, _ := op.Value.Pair()
		n, ok := token.Int()
		if !ok {
			return action{}, &unfit{token.Position, "expected an integer of 64 bits as token, found " + token.String()}
		}
		return action{kind: writes, to: in.number(value), token: n}, nil
	},
	apply: func(s state, a action) (state, bool) {
		if a.kind == reads {
			return s, s.value == a.from
		}
		return state{value: a.to, token: a.token}, a.token >= s.token
	},
	register: true,
}

// initial is the state before any operation: nobody has written, and any token
// is large enough.
var initial = state{value: none, token: math.MinInt64}

// unfit is an operation that does not fit its model.
type unfit struct {
	at   foreign.Position
	what string
}

func (u *unfit) Error() string { return u.what }
