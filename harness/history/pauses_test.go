package history

import (
	"reflect"
	"testing"
)

func TestPauses(t *testing.T) {
	at := func(time int64, f Fault) FaultEvent { return FaultEvent{Fault: f, Time: time} }
	h := &History{Faults: []FaultEvent{
		at(10, Fault{ID: "f1", Kind: "pause-holder", Phase: Armed, Victim: "w1", Point: "P3"}),
		at(20, Fault{ID: "f1", Kind: "pause-holder", Phase: Stopped, Victim: "w1", Point: "P3", Threads: 9, Written: []string{"r00"}, Held: []string{"r01"}}),
		at(30, Fault{ID: "f1", Kind: "pause-holder", Phase: Resumed, Victim: "w1", Detail: "no handover"}),
		at(31, Fault{ID: "f1", Kind: "pause-holder", Phase: Healed, Victim: "w1"}),
		at(40, Fault{ID: "f2", Kind: "kill-worker", Phase: Killed, Victim: "w2"}),
		at(50, Fault{ID: "f3", Kind: "pause-holder", Phase: Armed, Victim: "w3"}),
		at(55, Fault{ID: "f3", Kind: "pause-holder", Phase: Failed, Victim: "w3"}),
		at(15, Fault{ID: "f4", Kind: "pause-random", Phase: Stopped, Victim: "w2", Threads: 7}),
	}}
	want := []Pause{
		{ID: "f4", Kind: "pause-random", Worker: "w2", From: 15, To: Never, Threads: 7},
		{ID: "f1", Kind: "pause-holder", Worker: "w1", Point: "P3", From: 20, To: 30, Threads: 9, Written: []string{"r00"}, Held: []string{"r01"}, Detail: "no handover"},
	}
	if got := h.Pauses(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
