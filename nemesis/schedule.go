package nemesis

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// step is the n-th fault of a cell as the seed wants it. It depends on nothing
// but the seed, the kind of fault, the stream and n.
type step struct {
	ID     string
	Victim int           // index among the workers that may be hit
	Wait   time.Duration // before it
	Length time.Duration // how long, where it is not decided by events
	Coins  []bool        // one per resource: which order
}

// draw makes the n-th step. victims is how many workers may be hit, waits and
// lengths are the bounds to draw from.
func draw(a *Arena, kind, stream string, n, victims int, wait, length [2]time.Duration) step {
	rng := dice(a, kind, stream, n)
	s := step{
		ID:     fmt.Sprintf("%s%s-%d", kind, stream, n+1),
		Victim: rng.IntN(victims),
		Wait:   between(rng, wait),
		Length: between(rng, length),
		Coins:  make([]bool, len(a.Resources)),
	}
	// Exactly half of them each way, whichever.
	for i, r := range rng.Perm(len(a.Resources)) {
		s.Coins[r] = i%2 == 0
	}
	return s
}

// dice are random numbers that depend on nothing but the seed and these names.
func dice(a *Arena, kind, stream string, n int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%s/%d", kind, stream, n)
	return rand.New(rand.NewPCG(a.Seed, h.Sum64()))
}

// inTurn is the n-th of a sequence in which each of so many comes once in every
// round, in an order of the round's own.
func inTurn(a *Arena, kind string, n, many int) int {
	return dice(a, kind, "/turn", n/many).Perm(many)[n%many]
}

func between(rng *rand.Rand, bounds [2]time.Duration) time.Duration {
	lo, hi := bounds[0], bounds[1]
	if hi <= lo {
		return lo
	}
	return lo + time.Duration(rng.Int64N(int64(hi-lo)))
}
