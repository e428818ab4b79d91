package workloads

import "github.com/torture-harness/torture/checkers"

// The faults a contract can speak of. Package nemesis does them.
const (
	FaultNone        = "none"
	FaultPauseHolder = "pause-holder"
	FaultPauseRandom = "pause-random"
	FaultKillWorker  = "kill-worker"
	FaultDelayWrite  = "delay-write"
	FaultPauseServer = "pause-server"
)

// everything is what any scheme promises while nothing goes wrong.
func everything() checkers.Contract {
	c := checkers.Contract{}
	for _, p := range checkers.Properties {
		c[p] = checkers.Promised
	}
	return c
}

// plainStore: the lock itself is sound, but nothing stands between an old
// holder and the row.
func plainStore(fault string) checkers.Contract {
	c := everything()
	for _, p := range []checkers.Property{checkers.StaleOverwrite, checkers.FenceOrder, checkers.RMWAtomic} {
		switch {
		case fault == FaultPauseHolder, fault == FaultDelayWrite, fault == FaultPauseRandom && p == checkers.StaleOverwrite:
			c[p] = checkers.Predicted
		case fault != FaultNone:
			c[p] = checkers.Allowed
		}
	}
	return c
}

// checkedStore: a check before the write narrows the gap so much that blind
// pauses hardly hit it; an aimed one still does, and so does a write that is
// delayed behind the check.
func checkedStore(fault string) checkers.Contract {
	c := plainStore(fault)
	if fault == FaultPauseRandom {
		c[checkers.StaleOverwrite] = checkers.Allowed
	}
	return c
}

// fencedStore: no write of an old holder lands after a newer one's. One that
// lands *before* it may still be lost, if the newer had read already (C36).
func fencedStore(fault string) checkers.Contract {
	c := everything()
	switch fault {
	case FaultPauseHolder, FaultDelayWrite:
		c[checkers.RMWAtomic] = checkers.Predicted
	case FaultNone:
	default:
		c[checkers.RMWAtomic] = checkers.Allowed
	}
	return c
}

// claimStore: nothing is lost at all.
func claimStore(string) checkers.Contract { return everything() }

// etcdStore: the lock and the data are in one store, which accepts nothing once
// the lock is gone. So whatever a holder has read is current while it may write.
func etcdStore(string) checkers.Contract { return everything() }

// versionStore: no update is lost. The order of the grants is nothing it knows of.
func versionStore(string) checkers.Contract {
	c := everything()
	c[checkers.FenceOrder] = checkers.Allowed
	return c
}
