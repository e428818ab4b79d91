package explore

import (
	"iter"
	"math/big"
	"math/rand/v2"
	"slices"

	"github.com/torture-harness/torture/harness/history"
)

// All are the schedules of so many clients: every interleaving of their steps,
// and every one in which one write is in flight while others do something.
// Clients are alike, so that schedules which differ only in who is who are the
// same; they are named in the order in which they begin. Without locks that is
// all there is to be reduced: the steps are requests to shared servers, and any
// two of them may see each other.
func (p Program) All(clients int) iter.Seq[string] {
	return func(yield func(string) bool) {
		left := make([]int, clients)
		for i := range left {
			left[i] = len(p)
		}
		w := &walk{program: p, left: left, flying: -1, yield: yield}
		w.from(0)
	}
}

// walk goes through all schedules, letter by letter.
type walk struct {
	program Program
	left    []int // steps of each client
	begun   int
	flying  int // whose write is held, -1
	held    bool
	path    []byte
	yield   func(string) bool
}

func (w *walk) from(done int) (goOn bool) {
	if done == len(w.left) {
		return w.yield(string(w.path))
	}
	for c := range min(w.begun+1, len(w.left)) {
		if w.left[c] == 0 {
			continue
		}
		begun := w.begun
		w.begun = max(w.begun, c+1)
		goOn := w.step(c, done) && w.send(c, done)
		w.begun = begun
		if !goOn {
			return false
		}
	}
	return true
}

// step: c does its next step, or has its held write land.
func (w *walk) step(c, done int) bool {
	flying := w.flying
	if flying == c {
		if w.path[len(w.path)-1] == byte('a'+c) {
			return true // nothing happened meanwhile: a write like any other
		}
		w.flying = -1
	}
	w.left[c]--
	w.path = append(w.path, byte('A'+c))
	if w.left[c] == 0 {
		done++
	}
	goOn := w.from(done)
	w.path = w.path[:len(w.path)-1]
	w.left[c]++
	w.flying = flying
	return goOn
}

// send: c sends its write, which is held.
func (w *walk) send(c, done int) bool {
	if w.held || w.program[len(w.program)-w.left[c]] != history.Write {
		return true
	}
	w.held, w.flying = true, c
	w.path = append(w.path, byte('a'+c))
	goOn := w.from(done)
	w.path = w.path[:len(w.path)-1]
	w.held, w.flying = false, -1
	return goOn
}

// Space is how many schedules of so many clients there are: without a write in
// flight, and with one.
func (p Program) Space(clients int) (plain, inFlight int64) {
	n := int64(len(p))
	k := int64(clients)
	names := new(big.Int).MulRange(1, k)
	ways := func(lengths ...int64) *big.Int { // in which sequences interleave
		all := int64(0)
		out := big.NewInt(1)
		for _, l := range lengths {
			all += l
			out.Mul(out, new(big.Int).Binomial(all, l))
		}
		return out
	}
	same := slices.Repeat([]int64{n}, clients)
	whole := ways(same...)
	longer := slices.Clone(same)
	longer[0]++ // its write is two moves
	split := ways(longer...)
	split.Sub(split, whole) // those in which nothing is between the two
	split.Mul(split, big.NewInt(k))
	return new(big.Int).Div(whole, names).Int64(), new(big.Int).Div(split, names).Int64()
}

// Sample draws n different schedules of the space, each with the same chance;
// all of them if there are no more. One seed always draws the same.
func (p Program) Sample(clients, n int, seed int64) []string {
	plain, inFlight := p.Space(clients)
	if int64(n) >= plain+inFlight {
		return slices.Collect(p.All(clients))
	}
	rng := rand.New(rand.NewPCG(uint64(seed), uint64(len(p)*10+clients)))
	seen := map[string]bool{}
	var out []string
	for len(out) < n {
		held := rng.Int64N(plain+inFlight) >= plain
		id, ok := p.draw(rng, clients, held)
		for !ok {
			id, ok = p.draw(rng, clients, held)
		}
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// draw draws one schedule; it fails if the write that it holds lands at once.
func (p Program) draw(rng *rand.Rand, clients int, inFlight bool) (string, bool) {
	var letters []int
	for c := range clients {
		letters = append(letters, slices.Repeat([]int{c}, len(p))...)
	}
	sender := -1
	if inFlight {
		sender = rng.IntN(clients)
		letters = append(letters, sender)
	}
	rng.Shuffle(len(letters), func(i, j int) { letters[i], letters[j] = letters[j], letters[i] })
	write := slices.Index(p, history.Write)
	names := map[int]int{}
	done := make([]int, clients)
	var id []byte
	for i, c := range letters {
		if _, begun := names[c]; !begun {
			names[c] = len(names)
		}
		letter := byte('A' + names[c])
		if c == sender && done[c] == write {
			if letters[i+1] == c {
				return "", false
			}
			letter += 'a' - 'A'
		}
		done[c]++
		id = append(id, letter)
	}
	return string(id), true
}
