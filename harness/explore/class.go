package explore

import (
	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
)

// Layered are the properties that the model speaks of, from the lock upwards.
var Layered = []checkers.Property{checkers.LeaseExclusion, checkers.StaleOverwrite, checkers.FenceOrder, checkers.RMWAtomic}

// classOf is what a schedule comes to, in one word: the worst that happened.
func classOf(violated map[checkers.Property]bool, refused bool) result.Class {
	switch {
	case violated[checkers.LeaseExclusion]:
		return result.LockViolated
	case violated[checkers.StaleOverwrite]:
		return result.Stale
	case violated[checkers.RMWAtomic]:
		return result.LostUpdate
	case violated[checkers.FenceOrder]:
		return result.LateOnNewest
	case refused:
		return result.Refused
	}
	return result.Clean
}

// Class is what the model says a schedule comes to.
func (f Forecast) Class() result.Class { return classOf(f.Violated, f.Refused) }

// groupOf is the point at which the holder was stopped, the first one if several
// were.
func (f Forecast) groupOf(locked bool) string {
	for _, b := range f.Beats {
		switch {
		case b.Stop < 0:
		case b.Flying:
			return result.StoppedInFlight
		default:
			return stoppedAfter[b.After]
		}
	}
	if !locked {
		return result.NoLock
	}
	return result.NobodyStopped
}

var stoppedAfter = map[history.Kind]string{
	history.Acquire: result.StoppedAfterAcquire, history.Draw: result.StoppedAfterDraw,
	history.Read: result.StoppedAfterRead, history.Claim: result.StoppedAfterRead,
	history.Renew: result.StoppedAfterRenew, history.Check: result.StoppedAfterCheck,
	history.Write: result.StoppedAfterWrite,
}
