package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// delayed is a script: the victim arrives everywhere, its writes are held, others
// take over as they are wanted to, and at the release the held writes are
// answered. One delay is enough.
func delayed(th *theatre) *theatre {
	return overtaken(th, history.Held, history.OK, func(call, victim string) bool {
		return call == "release "+victim && len(th.faults(history.Released)) > 0
	})
}

func TestDelayWrite(t *testing.T) {
	th := delayed(newTheatre("w1", "w2", "w3"))
	if err := (DelayWrite{}).Run(ctxOf(t), th.arena(1, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	th.healed(t)
	var phases []history.Phase
	for _, e := range th.faults("") {
		phases = append(phases, e.Fault.Phase)
		if e.Fault.Point != "P5" || e.Fault.Kind != "delay-write" {
			t.Errorf("recorded was %+v", e.Fault)
		}
	}
	if want := []history.Phase{history.Armed, history.Held, history.Released, history.Healed}; !slices.Equal(phases, want) {
		t.Fatalf("the phases were %v, want %v", phases, want)
	}
	held, released := th.faults(history.Held)[0].Fault, th.faults(history.Released)[0].Fault
	both := slices.Concat(held.Written, held.Held)
	slices.Sort(both)
	if !slices.Equal(both, stage) || len(held.Written) != 4 || held.Detail != "7 requests with 700 bytes held" || held.Bytes["r03"] != 100 {
		t.Errorf("held: %+v", held)
	}
	if want := "4 of 4 written, 3 of 3 read"; released.Detail != want || len(released.Bytes) != 7 {
		t.Errorf("released: %+v", released)
	}
	// The requests are held before they are sent; others are armed once they are
	// under way, and let go only when they have been answered. Nobody is stopped.
	victim := held.Victim
	hold, release := th.at("hold "+victim), th.at("release "+victim)
	for _, c := range []struct {
		call          string
		behind, ahead int
	}{
		{"arm " + victim, -1, hold},
		{"go " + victim, hold, release},
		{"arm w3 P3 " + fmt.Sprint(held.Held), th.at("go " + victim), release},
		{"go w3 [" + held.Held[0] + "]", release, len(th.calls)},
	} {
		if at := th.at(c.call); at <= c.behind || at >= c.ahead {
			t.Errorf("%q came at %d of %q", c.call, at, th.calls)
		}
	}
	if th.at("stop") >= 0 {
		t.Error("a worker was stopped")
	}
}

func TestDelayWriteHealsOnEveryPath(t *testing.T) {
	whole := delayed(newTheatre("w1", "w2", "w3"))
	if err := (DelayWrite{}).Run(ctxOf(t), whole.arena(1, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	body := whole.at("release ")
	victim := whole.faults(history.Armed)[0].Fault.Victim
	if body < 5 {
		t.Fatalf("a whole delay is %q", whole.calls)
	}
	for i, call := range whole.calls[:body] {
		t.Run(fmt.Sprintf("%d fails: %s", i, call), func(t *testing.T) {
			th := delayed(newTheatre("w1", "w2", "w3"))
			th.failing = func(n int, _ string) error {
				if n == i {
					return errTest
				}
				return nil
			}
			err := DelayWrite{}.Run(ctxOf(t), th.arena(1, 200*time.Millisecond))
			if hold := strings.HasPrefix(call, "hold "+victim); errors.Is(err, errTest) == hold { // it cannot fail by itself
				t.Errorf("it ended with %v", err)
			}
			th.healed(t)
		})
		t.Run(fmt.Sprintf("%d given up: %s", i, call), func(t *testing.T) {
			th := delayed(newTheatre("w1", "w2", "w3"))
			ctx, cancel := context.WithCancel(ctxOf(t))
			defer cancel()
			th.failing = func(n int, _ string) error {
				if n == i {
					cancel()
				}
				return nil
			}
			if err := (DelayWrite{}).Run(ctx, th.arena(1, time.Second)); !errors.Is(err, context.Canceled) {
				t.Errorf("it ended with %v", err)
			}
			th.healed(t)
		})
	}
}

func TestDelayWriteWithoutWrites(t *testing.T) {
	for name, play := range map[string]func(*theatre){
		"no holder came by":   func(th *theatre) { th.script = func(string) {} },
		"nobody sent a write": func(th *theatre) { th.wire.silent = true },
	} {
		th := delayed(newTheatre("w1", "w2"))
		play(th)
		th.said = func(f history.Fault) {
			if f.Phase == history.Failed && len(th.faults(history.Failed)) == 1 {
				close(th.enough)
			}
		}
		th.script = func(call string) {
			if name != "no holder came by" && strings.HasPrefix(call, "arm w1") {
				th.arrives("w1", "r00")
			}
		}
		if err := (DelayWrite{}).Run(ctxOf(t), th.arena(1, 50*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if got := th.faults(history.Failed)[0].Fault.Detail; got != name {
			t.Errorf("it failed because %q, want %q", got, name)
		}
		th.healed(t)
	}
}

func TestDelayWriteNeedsAWire(t *testing.T) {
	a := newTheatre("w1", "w2").arena(1, time.Second)
	a.Wire = nil
	if err := (DelayWrite{}).Run(ctxOf(t), a); err == nil || !strings.Contains(err.Error(), "proxy") {
		t.Errorf("without a proxy: %v", err)
	}
}
