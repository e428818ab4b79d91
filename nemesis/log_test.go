package nemesis

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

func progress(worker, resource string, kind history.Kind, outcome history.Outcome, call, grantCall int64) Seen {
	return Seen{Worker: worker, Resource: resource, Time: call + 1,
		Progress: &workloads.Progress{Kind: kind, Outcome: outcome, Call: call, GrantCall: grantCall}}
}

func TestLogAwait(t *testing.T) {
	l := newLog()
	begun := time.Now()
	if l.await(ctxOf(t), 50*time.Millisecond, func() bool { return false }) {
		t.Error("what never holds was found to hold")
	}
	if waited := time.Since(begun); waited < 50*time.Millisecond {
		t.Errorf("it was given up after %s", waited)
	}
	if !l.await(ctxOf(t), time.Hour, func() bool { return true }) {
		t.Error("what holds already was not found to hold")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if l.await(ctx, time.Hour, func() bool { return false }) {
		t.Error("the end of the context was taken for a yes")
	}
	// What depends on the time alone is noticed though nothing is told.
	if !l.await(ctxOf(t), time.Hour, func() bool { return time.Since(begun) > 100*time.Millisecond }) {
		t.Error("the passing of time was not noticed")
	}
}

// What is told by many at once is not missed.
func TestLogAwaitIsWoken(t *testing.T) {
	l := newLog()
	var tellers sync.WaitGroup
	for _, r := range stage {
		tellers.Go(func() { l.add(Seen{Worker: "w1", Resource: r, Point: "P3"}) })
	}
	if !l.await(ctxOf(t), time.Hour, func() bool { return len(l.arrivedAt("w1", "P3")) == len(stage) }) {
		t.Error("somebody's arrival was missed")
	}
	tellers.Wait()
}

func TestLogFinds(t *testing.T) {
	l := newLog()
	l.add(Seen{Worker: "w1", Resource: "r00", Point: "P3", Time: 10})
	l.add(Seen{Worker: "w1", Resource: "r01", Point: "P2", Time: 11})
	l.add(Seen{Worker: "w2", Resource: "r02", Point: "P3", Time: 12})
	l.add(progress("w1", "r03", history.Acquire, history.OK, 13, 13))
	if got := l.arrivedAt("w1", "P3"); !slices.Equal(got, []string{"r00"}) {
		t.Errorf("at P3 of w1 are %v", got)
	}
	if len(l.seen) != 3 {
		t.Error("an acquisition is kept, and nobody asks for it")
	}
	for _, c := range []struct {
		resource, victim string
		want             int64
	}{{"r02", "w1", 12}, {"r02", "w2", 0}, {"r00", "w1", 0}, {"r01", "w2", 0}} {
		if got := l.heldSince(c.resource, c.victim, "P3"); got != c.want {
			t.Errorf("%s is held by another than %s since %d, want %d", c.resource, c.victim, got, c.want)
		}
	}
}

// A takeover is a write that was accepted, of another worker, under a grant
// that is newer than the stop.
func TestLogNewerWrite(t *testing.T) {
	const from = 100
	for what, c := range map[string]struct {
		seen  Seen
		newer bool
	}{
		"accepted":          {progress("w2", "r00", history.Write, history.OK, 120, 110), true},
		"an older grant":    {progress("w2", "r00", history.Write, history.OK, 120, 100), false},
		"refused":           {progress("w2", "r00", history.Write, history.Rejected, 120, 110), false},
		"unknown":           {progress("w2", "r00", history.Write, history.Info, 120, 110), false},
		"the victim's":      {progress("w1", "r00", history.Write, history.OK, 120, 110), false},
		"another resource":  {progress("w2", "r01", history.Write, history.OK, 120, 110), false},
		"not a write":       {progress("w2", "r00", history.Acquire, history.OK, 120, 110), false},
		"only at the point": {Seen{Worker: "w2", Resource: "r00", Point: "P3", Time: 120}, false},
	} {
		l := newLog()
		l.add(c.seen)
		if got := l.newerWrite("r00", "w1", from) > 0; got != c.newer {
			t.Errorf("%s: a takeover: %t", what, got)
		}
	}
}

// The old holder's write counts once it is answered, however.
func TestLogWriteAfter(t *testing.T) {
	for what, c := range map[string]struct {
		seen  Seen
		after bool
	}{
		"accepted":        {progress("w1", "r00", history.Write, history.OK, 101, 1), true},
		"refused":         {progress("w1", "r00", history.Write, history.Rejected, 101, 1), true},
		"unknown":         {progress("w1", "r00", history.Write, history.Info, 101, 1), true},
		"sent before":     {progress("w1", "r00", history.Write, history.OK, 100, 1), false},
		"another's":       {progress("w2", "r00", history.Write, history.OK, 101, 1), false},
		"of another":      {progress("w1", "r01", history.Write, history.OK, 101, 1), false},
		"only at a point": {Seen{Worker: "w1", Resource: "r00", Point: "P3", Time: 101}, false},
	} {
		l := newLog()
		l.add(c.seen)
		if got := l.writeAfter("r00", "w1", 100); got != c.after {
			t.Errorf("%s: answered: %t", what, got)
		}
	}
}

// A delayed write counts once it is answered, however long ago it was sent.
func TestLogAnsweredAfter(t *testing.T) {
	answered := func(worker, resource string, kind history.Kind, at int64) Seen {
		s := progress(worker, resource, kind, history.OK, 1, 1)
		s.Progress.Return = at
		return s
	}
	for what, c := range map[string]struct {
		seen  Seen
		after bool
	}{
		"after":           {answered("w1", "r00", history.Write, 101), true},
		"before":          {answered("w1", "r00", history.Write, 100), false},
		"another's":       {answered("w2", "r00", history.Write, 101), false},
		"of another":      {answered("w1", "r01", history.Write, 101), false},
		"not a write":     {answered("w1", "r00", history.Acquire, 101), false},
		"only at a point": {Seen{Worker: "w1", Resource: "r00", Point: "P3", Time: 101}, false},
	} {
		l := newLog()
		l.add(c.seen)
		if got := l.answeredAfter("r00", "w1", 100); got != c.after {
			t.Errorf("%s: answered: %t", what, got)
		}
	}
}
