// Package explore runs every way in which the steps of a few clients can
// interleave, on real servers, each on a resource of its own. A small model of
// the protocol says beforehand what must come of each; the checkers say what did.
package explore

import (
	"fmt"
	"slices"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

// Program is the steps of one client, in their order. All clients of a schedule
// have the same, and each does it once.
type Program []history.Kind

// ProgramOf is what a client of the strategy does.
func ProgramOf(s workloads.Strategy) Program {
	var p Program
	add := func(wanted bool, kind history.Kind) {
		if wanted {
			p = append(p, kind)
		}
	}
	claims, draws := s.Guard.Claims, s.Locker.Draws
	add(s.Locked(), history.Acquire)
	add(draws && claims, history.Draw) // a claim carries the token
	add(claims, history.Claim)
	add(!claims, history.Read)
	add(draws && !claims, history.Draw)
	add(s.Renew == workloads.RenewInside, history.Renew)
	add(s.Check, history.Check)
	add(true, history.Write)
	add(s.Locked(), history.Release)
	return p
}

// Phase tells the two halves of a step apart whose request is held on its way.
type Phase string

// The phases of a step.
const (
	Whole  Phase = ""       // sent, executed and answered
	Sent   Phase = "sent"   // sent, and held in the network
	Landed Phase = "landed" // let through, executed and answered
)

// Move is one step of one client, or a half of it.
type Move struct {
	Client int // 0 is A
	Do     history.Kind
	Phase  Phase
}

// Name is the name of a client: A, B, C.
func Name(client int) string { return string(rune('A' + client)) }

// Most is how many clients a schedule can have.
const Most = 5

// Moves reads a schedule. It is a letter for each move: the client that does
// its next step; a small letter sends a write that the network holds, and the
// next letter of that client lets it through. AABBBBAA: A acquires and reads, B
// does all of its steps, A writes and releases.
func (p Program) Moves(id string) ([]Move, error) {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("schedule %q: %s", id, fmt.Sprintf(format, args...))
	}
	var moves []Move
	var next []int // step, by client
	flying := -1   // whose write is held
	held := false  // one has been
	for i, letter := range []byte(id) {
		small := letter >= 'a' && letter < 'a'+Most
		if !small && (letter < 'A' || letter >= 'A'+Most) {
			return nil, bad("letter %d is %q; clients are A to %s", i+1, letter, Name(Most-1))
		}
		c := int(letter - 'A')
		if small {
			c = int(letter - 'a')
		}
		switch {
		case c > len(next):
			return nil, bad("letter %d is %s before %s: clients are named in the order in which they begin", i+1, Name(c), Name(len(next)))
		case c == len(next):
			next = append(next, 0)
		}
		if next[c] == len(p) {
			return nil, bad("%s has more than its %d steps %v", Name(c), len(p), []history.Kind(p))
		}
		m := Move{Client: c, Do: p[next[c]]}
		switch {
		case small && (m.Do != history.Write || held):
			return nil, bad("letter %d: only a write can be held, and only one", i+1)
		case small:
			m.Phase, flying, held = Sent, c, true
		case flying == c:
			m.Phase, flying = Landed, -1
			next[c]++
		default:
			next[c]++
		}
		moves = append(moves, m)
	}
	for c, n := range next {
		if n < len(p) {
			return nil, bad("%s does %d of its %d steps %v", Name(c), n, len(p), []history.Kind(p))
		}
	}
	if len(next) < 2 {
		return nil, bad("it needs two clients or more")
	}
	return moves, nil
}

// Clients is how many clients take part.
func Clients(moves []Move) int {
	return slices.MaxFunc(moves, func(a, b Move) int { return a.Client - b.Client }).Client + 1
}
