package explore

import (
	"fmt"

	"github.com/torture-harness/torture/harness/history"
)

// evidence is what is known of one schedule as it ran, from the steps of its
// clients while it runs, or from the saved history.
type evidence struct {
	took  []took // by beat
	stops []span
	holds []span
	ends  []ended
}

// took is a step as its client saw it; the zero value is one that it left out.
type took struct {
	op            string
	outcome       history.Outcome
	call, return_ int64 // ns
	leaseCall     int64 // ns; of an acquire or a renewal
	leaseTTL      int64 // ns
	saw           string
	problem       string // what the server or the network said, if it said no
}

// span is the time in which a client was stopped, or its write held.
type span struct {
	client   int
	from, to int64 // ns
	threads  int   // that were seen stopped
	fault    history.Fault
}

// ended is the end of the lease of a client that was stopped, as its server shows
// it.
type ended struct {
	client int
	forced int64 // ns, before its end was asked for; 0 if it ended by itself
	gone   bool
}

// finding is what the evidence of a schedule comes to.
type finding struct {
	unplanned []string // why it did not run as planned
	early     bool     // a lease ended before it was to end: the machine was too slow
	differs   []string // what the servers did otherwise than the model
}

// examine compares what happened with what was planned, and with what the model
// says must come of it.
func (f Forecast) examine(e evidence) finding {
	var out finding
	x := &examination{Forecast: f, evidence: e, out: &out}
	x.order()
	for i := range f.Beats {
		x.beat(i)
	}
	if len(out.unplanned) > 0 {
		out.differs = nil // of another schedule than this one
	}
	return out
}

type examination struct {
	Forecast
	evidence
	out *finding
}

func (x *examination) unplanned(format string, args ...any) {
	x.out.unplanned = append(x.out.unplanned, fmt.Sprintf(format, args...))
}

func (x *examination) differs(i int, format string, args ...any) {
	b := x.Beats[i]
	x.out.differs = append(x.out.differs, fmt.Sprintf("move %d, %s of %s: ", i+1, b.Do, Name(b.Client))+fmt.Sprintf(format, args...))
}

// order: each move begins after the one before it has ended.
func (x *examination) order() {
	var before int64
	for i, b := range x.Beats {
		from, to := x.took[i].call, x.took[i].return_
		if x.took[i].op == "" {
			continue
		}
		if b.Phase != Whole {
			held, ok := spanOf(x.holds, b.Client, x.took[i].call)
			if !ok {
				x.unplanned("move %d: the write of %s was not held", i+1, Name(b.Client))
				continue
			}
			if b.Phase == Sent {
				to = held.from
			} else {
				from = held.to
			}
		}
		if from <= before {
			x.unplanned("move %d, %s of %s, began before the one before it had ended", i+1, b.Do, Name(b.Client))
		}
		before = to
	}
}

// spanOf is the first span of a client that did not end before a moment.
func spanOf(all []span, client int, at int64) (span, bool) {
	for _, s := range all {
		if s.client == client && s.to > at {
			return s, true
		}
	}
	return span{}, false
}

// leaseEnd is when the lease of a client ends by itself, by what it was told
// before beat i.
func (x *examination) leaseEnd(client, i int) int64 {
	var end int64
	for j, b := range x.Beats[:i] {
		if t := x.took[j]; b.Client == client && t.outcome == history.OK && t.leaseTTL > 0 {
			end = t.leaseCall + t.leaseTTL
		}
	}
	return end
}

func (x *examination) beat(i int) {
	b, t := x.Beats[i], x.took[i]
	if b.Phase == Sent {
		return // its outcome is that of its other half
	}
	got := t.outcome
	if t.op == "" {
		got = Skipped
	}
	if b.Stop >= 0 && t.op != "" {
		x.stopped(i)
	}
	if b.Do == history.Acquire && got != history.OK {
		x.unplanned("%s did not get the lock: %s", Name(b.Client), t.problem)
		return
	}
	if got == history.Info || got == history.Fail {
		x.unplanned("%s of %s ended with %s: %s", b.Do, Name(b.Client), got, t.problem)
		return
	}
	if got != b.Outcome {
		// Told that its lock is lost although nobody has taken it: if its lease had
		// run out by then, there was too little time for the steps before.
		if got == history.Lost && b.Outcome == history.OK && t.return_ >= x.leaseEnd(b.Client, i) {
			x.tooLate(b.Client, "at its "+string(b.Do))
			return
		}
		x.differs(i, "the model says %s, the servers said %s", b.Outcome, got)
	}
	if b.Saw != "" && got == history.OK && t.saw != b.Saw {
		x.differs(i, "the model says that it sees %s, and it saw %s", whose(b.Saw), whose(t.saw))
	}
}

func whose(name string) string {
	if name == history.InitialWrite {
		return "the initial document"
	}
	return "the write of " + name
}

func (x *examination) tooLate(client int, when string) {
	x.out.early = true
	x.unplanned("the lease of %s ended by itself before it was to end, %s: the machine was too slow", Name(client), when)
}

// stopped: the holder was stopped while its lease lasted, all its threads, until
// the next one had the lock; and the server no longer had its lease then.
func (x *examination) stopped(i int) {
	b, t := x.Beats[i], x.took[i]
	holder := Name(b.Stop)
	stop, ok := spanOf(x.stops, b.Stop, t.return_)
	switch {
	case !ok || stop.threads == 0 || stop.from >= t.call:
		x.unplanned("%s was not stopped when %s took the lock", holder, Name(b.Client))
		return
	case stop.from >= x.leaseEnd(b.Stop, i):
		x.tooLate(b.Stop, "before it was stopped")
		return
	}
	for _, end := range x.ends {
		if end.client != b.Stop {
			continue
		}
		if end.forced > x.leaseEnd(b.Stop, i) {
			x.tooLate(b.Stop, "before it was revoked")
		}
		if !end.gone {
			x.differs(i, "the server still had the lease of %s when %s had been granted the lock", holder, Name(b.Client))
		}
		return
	}
	x.unplanned("nobody looked whether the lease of %s had ended", holder)
}
