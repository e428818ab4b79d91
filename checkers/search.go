package checkers

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// limits bound what one search may take. The bound of memory comes first and
// counts steps, so that what is given up does not depend on the machine; that of
// time is there for a machine that is too slow.
type limits struct {
	ctx    context.Context // of whoever judges; nil is none
	memory int64           // bytes; 0 is searchMemory
}

// Why a search was given up.
const (
	outOfTime   = "budget exceeded"
	outOfMemory = "a search would take too much memory"
)

// What searches may take, in bytes, if GOMEMLIMIT leaves room for it: each, and
// all that run at once.
const (
	searchMemory   = 32 << 20
	searchesMemory = 512 << 20
)

// stepMemory is what Porcupine keeps of each step of a search through n
// operations: a set of them with a bit for each, and its place in a map.
func stepMemory(n int) int64 { return int64(n)/8 + 200 }

// newLimits are those of one search, and how many of them may run at once: as
// many as there are processors, fewer if the memory is short.
func newLimits(ctx context.Context) (l limits, parallel int) {
	room := min(searchesMemory, memoryLeft()/2)
	l = limits{ctx: ctx, memory: min(searchMemory, max(room, 1<<20))}
	return l, int(min(int64(runtime.GOMAXPROCS(0)), max(room/l.memory, 1)))
}

// memoryLeft is what may still be allocated under GOMEMLIMIT.
func memoryLeft() int64 {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return limit
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return limit - int64(live[0].Value.Uint64())
}

func (l limits) cancelled() bool { return l.ctx != nil && l.ctx.Err() != nil }

// search asks Porcupine. why says what was short if the answer is unknown. A
// budget of 0 or less is unknown at once: Porcupine itself would take it for "no
// limit".
func (l limits) search(m porcupine.Model, ops []porcupine.Operation, budget time.Duration) (a answer, why string) {
	steps := cmp.Or(l.memory, searchMemory) / stepMemory(len(ops))
	switch {
	case budget <= 0 || l.cancelled():
		return unknown, outOfTime
	case steps < int64(len(ops)): // it cannot even be legal within them
		return unknown, outOfMemory
	}
	// A search that has been given up finds that no step is legal, and so comes
	// to its end at once; what it says then does not count.
	var over, stopped atomic.Bool
	step := m.Step
	m.Step = func(st, input, output any) (bool, any) {
		if stopped.Load() {
			return false, st
		}
		ok, next := step(st, input, output)
		if !ok {
			return false, st
		}
		if steps--; steps < 0 {
			over.Store(true)
			stopped.Store(true)
		} else if steps%1024 == 0 && l.cancelled() {
			stopped.Store(true)
		}
		return true, next
	}
	result := porcupine.CheckOperationsTimeout(m, ops, budget)
	switch {
	case over.Load():
		return unknown, outOfMemory
	case stopped.Load() || result == porcupine.Unknown:
		return unknown, outOfTime
	case result == porcupine.Ok:
		return legal, ""
	}
	return illegal, ""
}

// search is one search of what is small, a budget its only limit.
func search(m porcupine.Model, ops []porcupine.Operation, budget time.Duration) answer {
	a, _ := limits{memory: math.MaxInt64}.search(m, ops, budget)
	return a
}
