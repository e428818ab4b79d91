package harness

import (
	"testing"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/nemesis"
	"github.com/torture-harness/torture/workloads"
)

// wrote is an accepted write under a grant [grant, grant+1] whose basis had been
// read at basis.
func wrote(worker string, grant, basis, call, ret int64) nemesis.Seen {
	return nemesis.Seen{Worker: worker, Resource: "r00", Time: ret, Progress: &workloads.Progress{Kind: history.Write, Worker: worker, Resource: "r00",
		Outcome: history.OK, Call: call, Return: ret, GrantCall: grant, GrantReturn: grant + 1, BasisReturn: basis}}
}

func released(worker string, at int64) history.Event {
	return history.Event{Type: history.TypeFault, Time: at, Fault: &history.Fault{Kind: "delay-write", Phase: history.Released, Victim: worker, Bytes: map[string]int{"r00": 9}}}
}

// A write that the network held is as late as its release.
func TestTallyOfDelays(t *testing.T) {
	for name, c := range map[string]struct {
		do         func(*tally)
		late, lost int
	}{
		"held until the newer had written": {func(y *tally) {
			y.add(wrote("w2", 20, 22, 24, 25))
			y.fault(released("w1", 40))
			y.add(wrote("w1", 0, 3, 4, 41))
		}, 1, 1},
		"not held, so it may have landed first": {func(y *tally) {
			y.add(wrote("w2", 20, 22, 24, 25))
			y.add(wrote("w1", 0, 3, 4, 41))
		}, 0, 0},
		"another's were held": {func(y *tally) {
			y.add(wrote("w2", 20, 22, 24, 25))
			y.fault(released("w3", 40))
			y.add(wrote("w1", 0, 3, 4, 41))
		}, 0, 0},
		"sent after the release": {func(y *tally) {
			y.fault(released("w1", 10))
			y.add(wrote("w2", 20, 22, 24, 25))
			y.add(wrote("w1", 0, 3, 23, 41))
		}, 0, 0},
		"let go between the newer one's read and write": {func(y *tally) {
			y.fault(released("w1", 23))
			y.add(wrote("w1", 0, 3, 4, 24))
			y.add(wrote("w2", 20, 22, 30, 31)) // overwrites what it has not seen
		}, 0, 1},
	} {
		y := newTally()
		c.do(y)
		if y.lateWrites() != c.late || y.lostUpdates() != c.lost {
			t.Errorf("%s: %d late, %d lost, want %d and %d", name, y.lateWrites(), y.lostUpdates(), c.late, c.lost)
		}
	}
}

func TestTallyOfServerPauses(t *testing.T) {
	y := newTally()
	for _, f := range []history.Fault{
		{Kind: "pause-server", Phase: history.Stopped}, {Kind: "pause-server", Phase: history.Healed},
		{Kind: "pause-holder", Phase: history.Healed}, {Kind: "pause-server", Phase: history.Healed},
	} {
		y.fault(history.Event{Fault: &f})
	}
	if y.serverPauses() != 2 {
		t.Errorf("%d pauses are over, want 2", y.serverPauses())
	}
}
