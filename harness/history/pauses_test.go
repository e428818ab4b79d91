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
		at(60, Fault{ID: "f5", Kind: "delay-write", Phase: Armed, Victim: "w1", Point: "P5"}),
		at(61, Fault{ID: "f5", Kind: "delay-write", Phase: Held, Victim: "w1", Point: "P5", Bytes: map[string]int{"r00": 9, "r01": 8}, Written: []string{"r00"}, Held: []string{"r01"}}),
		at(70, Fault{ID: "f5", Kind: "delay-write", Phase: Released, Victim: "w1", Point: "P5", Bytes: map[string]int{"r00": 9}, Written: []string{"r00"}}),
		at(15, Fault{ID: "f4", Kind: "pause-random", Phase: Stopped, Victim: "w2", Threads: 7}),
	}}
	want := []Pause{
		{ID: "f4", Kind: "pause-random", Worker: "w2", From: 15, To: Never, Threads: 7},
		{ID: "f1", Kind: "pause-holder", Worker: "w1", Point: "P3", From: 20, To: 30, Threads: 9, Written: []string{"r00"}, Held: []string{"r01"}, Detail: "no handover"},
		{ID: "f5", Kind: "delay-write", Worker: "w1", Point: "P5", From: 61, To: 70, Delay: true, Written: []string{"r00"}, Held: []string{"r01"}, Bytes: map[string]int{"r00": 9}},
	}
	if got := h.Pauses(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestPauseDelays(t *testing.T) {
	delay := Pause{Worker: "w1", From: 10, To: 20, Delay: true, Bytes: map[string]int{"r00": 5}}
	write := Operation{Worker: "w1", Resource: "r00", Call: 9, Return: 21}
	for name, c := range map[string]struct {
		change func(*Pause, *Operation)
		want   bool
	}{
		"spans it":          {func(*Pause, *Operation) {}, true},
		"touches it":        {func(_ *Pause, o *Operation) { o.Call, o.Return = 10, 20 }, true},
		"unknown":           {func(_ *Pause, o *Operation) { o.Return = Never }, true},
		"called later":      {func(_ *Pause, o *Operation) { o.Call = 11 }, false},
		"answered before":   {func(_ *Pause, o *Operation) { o.Return = 19 }, false},
		"another worker":    {func(_ *Pause, o *Operation) { o.Worker = "w2" }, false},
		"another resource":  {func(_ *Pause, o *Operation) { o.Resource = "r01" }, false},
		"a stop":            {func(p *Pause, _ *Operation) { p.Delay = false }, false},
		"never let go":      {func(p *Pause, o *Operation) { p.To, o.Return = Never, Never }, false},
		"nothing was held":  {func(p *Pause, _ *Operation) { p.Bytes = map[string]int{"r00": 0} }, false},
		"nothing is proven": {func(p *Pause, _ *Operation) { p.Bytes = nil }, false},
	} {
		p, o := delay, write
		c.change(&p, &o)
		if got := p.Delays(&o); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
