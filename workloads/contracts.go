package workloads

import (
	"slices"

	"github.com/torture-harness/torture/checkers"
)

// The contracts of the catalogue beyond the first eight. Where a fault does not
// surely find a violation that theory allows, it is allowed and not predicted.

// resourceLayer are the properties of the data.
var resourceLayer = []checkers.Property{checkers.StaleOverwrite, checkers.FenceOrder, checkers.RMWAtomic}

// with changes terms of a contract for every fault.
func with(c checkers.Contract, promise checkers.Promise, properties ...checkers.Property) checkers.Contract {
	for _, p := range properties {
		c[p] = promise
	}
	return c
}

// renewedStore: the renewals stop with the holder, and go on while its write
// hangs in the network, so that nobody overtakes it then.
func renewedStore(fault string) checkers.Contract {
	c := checkedStore(fault)
	if fault == FaultDelayWrite {
		with(c, checkers.Allowed, resourceLayer...)
	}
	return c
}

// delStore: an old holder surely removes a lock of somebody else.
func delStore(fault string) checkers.Contract {
	c := unsafeRelease(fault)
	if fault == FaultPauseHolder {
		with(c, checkers.Predicted, checkers.LeaseExclusion)
	}
	return c
}

// unsafeRelease: an old holder may remove the next one's lock.
func unsafeRelease(fault string) checkers.Contract {
	c := plainStore(fault)
	if fault != FaultNone {
		with(c, checkers.Allowed, checkers.LeaseExclusion)
	}
	return c
}

// expiringStore: whoever is killed between the two commands leaves the lock
// taken for ever.
func expiringStore(fault string) checkers.Contract {
	c := plainStore(fault)
	if fault == FaultKillWorker {
		with(c, checkers.Allowed, checkers.Progress)
	}
	return c
}

// outsideStore: the lease of a holder that is stopped or delayed is kept alive,
// so nobody overtakes it, and nothing is ever written late. One that was killed
// keeps its lock for ever.
func outsideStore(fault string) checkers.Contract {
	c := sleeplessStore(fault)
	switch fault {
	case FaultKillWorker:
		with(c, checkers.Predicted, checkers.Progress)
	case FaultPauseServer: // the renewals are lost with the server's time
		with(c, checkers.Allowed, resourceLayer...)
	}
	return c
}

// sleeplessStore: the lock outlasts every pause of its holder. No write is late,
// so that stale-overwrite and fence-order are never at risk; rmw-atomic, which
// includes the first, is.
func sleeplessStore(fault string) checkers.Contract {
	c := everything()
	switch fault {
	case FaultNone:
	case FaultKillWorker: // a request of the dead may arrive behind the end of its lock
		with(c, checkers.Allowed, resourceLayer...)
	default:
		with(c, checkers.Allowed, checkers.StaleOverwrite, checkers.FenceOrder)
	}
	return c
}

// drawnLate: a holder that is stopped before it draws gets a number that is not
// of its own time. The store compares rightly, and that does not help. A newer
// grant may be refused for it.
func drawnLate(fault string) checkers.Contract {
	c := everything()
	switch fault {
	case FaultNone:
	case FaultPauseHolder:
		with(c, checkers.Predicted, append(slices.Clone(resourceLayer), checkers.TokenOrder)...)
		with(c, checkers.Allowed, checkers.Progress)
	default:
		with(c, checkers.Allowed, append(slices.Clone(resourceLayer), checkers.TokenOrder, checkers.Progress)...)
	}
	return c
}

// bypassedStore: the second entry is as good as no fence at all.
func bypassedStore(fault string) checkers.Contract {
	c := checkedStore(fault)
	if fault == FaultDelayWrite {
		with(c, checkers.Allowed, resourceLayer...)
	}
	return c
}

// stuckStore: nothing is accepted, with or without a fault, so nothing of the
// data is ever at risk.
func stuckStore(string) checkers.Contract {
	c := with(everything(), checkers.Allowed, append(slices.Clone(resourceLayer), checkers.Register, checkers.Durability)...)
	return with(c, checkers.Predicted, checkers.Progress)
}

// nothing: updates are lost with or without a fault.
func nothing(string) checkers.Contract {
	return with(everything(), checkers.Predicted, resourceLayer...)
}
