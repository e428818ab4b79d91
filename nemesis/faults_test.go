package nemesis

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

func TestFaultsAreFoundByName(t *testing.T) {
	if got := strings.Join(Names(), " "); got != "none pause-holder pause-random delay-write pause-server kill-worker" {
		t.Errorf("the faults are: %s", got)
	}
	for _, name := range Names() {
		f, ok := ByName(name)
		if !ok || f.Name() != name || f.About() == "" {
			t.Errorf("%s: found %v", name, f)
		}
	}
	if _, ok := ByName("meteor"); ok {
		t.Error("an unknown fault was found")
	}
}

func TestNoneWaits(t *testing.T) {
	th := newTheatre("w1", "w2")
	ended := make(chan error, 1)
	go func() { ended <- None{}.Run(ctxOf(t), th.arena(1, time.Second)) }()
	select {
	case err := <-ended:
		t.Fatalf("it ended before there was enough: %v", err)
	default:
	}
	close(th.enough)
	if err := <-ended; err != nil || len(th.calls) > 0 {
		t.Errorf("%v, and it did %q", err, th.calls)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := (None{}).Run(ctx, newTheatre("w1").arena(1, time.Second)); !errors.Is(err, context.Canceled) {
		t.Errorf("at the end of the context: %v", err)
	}
}

// One worker alone can hand over to nobody.
func TestFaultsNeedTwoWorkers(t *testing.T) {
	for _, f := range []Fault{PauseHolder{}, PauseRandom{}, DelayWrite{}, KillWorker{}} {
		th := newTheatre("w1")
		if err := f.Run(ctxOf(t), th.arena(1, time.Second)); err == nil || !strings.Contains(err.Error(), "two workers") {
			t.Errorf("%s of one worker: %v", f.Name(), err)
		}
	}
}

// takeover is a script: the victim arrives everywhere, another takes over as it
// is wanted to, and the victim's writes are answered when it goes on. One pause
// is enough.
func takeover(th *theatre) *theatre {
	return overtaken(th, history.Stopped, history.Rejected, func(call, victim string) bool { return call == "continue "+victim })
}

// overtaken is the script of takeover for a fault that begins to show in some
// phase, and after whose end, a call, the victim's writes are answered so.
func overtaken(th *theatre, shows history.Phase, answer history.Outcome, ended func(call, victim string) bool) *theatre {
	var victim string
	var held []string
	th.said = func(f history.Fault) {
		switch f.Phase {
		case history.Armed:
			victim, held = f.Victim, nil
		case shows:
			held = f.Held
			for _, r := range f.Written {
				th.writes(th.last(), r, history.OK)
			}
		case history.Healed:
			if len(th.faults(history.Healed)) == 1 {
				close(th.enough)
			}
		}
	}
	th.script = func(call string) {
		switch {
		case strings.HasPrefix(call, "arm "+victim):
			for _, r := range stage {
				th.arrives(victim, r)
			}
		case strings.HasPrefix(call, "arm "+th.last()):
			for _, r := range held {
				th.arrives(th.last(), r)
			}
		case ended(call, victim):
			for _, r := range stage {
				th.writes(victim, r, answer)
			}
		}
	}
	return th
}

// bySeed asserts that one seed gives the same faults again, and another others.
func bySeed(t *testing.T, executed func(seed uint64) []history.Fault) {
	t.Helper()
	one := executed(1)
	if again := executed(1); !reflect.DeepEqual(one, again) {
		t.Errorf("one seed: %v and %v", one, again)
	}
	if other := executed(2); reflect.DeepEqual(one, other) {
		t.Error("two seeds gave the same faults")
	}
}

func TestPauseHolder(t *testing.T) {
	th := takeover(newTheatre("w1", "w2", "w3"))
	if err := (PauseHolder{}).Run(ctxOf(t), th.arena(1, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	th.healed(t)

	var phases []history.Phase
	for _, e := range th.faults("") {
		phases = append(phases, e.Fault.Phase)
	}
	if want := []history.Phase{history.Armed, history.Stopped, history.Resumed, history.Healed}; !slices.Equal(phases, want) {
		t.Fatalf("the phases were %v, want %v", phases, want)
	}
	stopped, resumed := th.faults(history.Stopped)[0], th.faults(history.Resumed)[0]
	victim := stopped.Fault.Victim
	if victim == "w3" || stopped.Fault.Threads != 7 || stopped.Fault.Point != "P3" || stopped.Worker != victim {
		t.Errorf("stopped: %+v", stopped.Fault)
	}
	both := slices.Concat(stopped.Fault.Written, stopped.Fault.Held)
	slices.Sort(both)
	if !slices.Equal(both, stage) || len(stopped.Fault.Written) != 4 {
		t.Errorf("the orders are %v and %v", stopped.Fault.Written, stopped.Fault.Held)
	}
	if want := "4 of 4 written, 3 of 3 read"; resumed.Fault.Detail != want {
		t.Errorf("at the resume: %q, want %q", resumed.Fault.Detail, want)
	}

	// The word to go on is in the victim's pipe before it runs; the others are
	// armed only while it is stopped, and let go only when it has written.
	stop, cont := th.at("stop "+victim), th.at("continue "+victim)
	for _, c := range []struct {
		call          string
		behind, ahead int
	}{
		{"arm " + victim, -1, stop},
		{"arm w3 P3 " + fmt.Sprint(stopped.Fault.Held), stop, cont},
		{"disarm " + victim, stop, cont},
		{"go " + victim, stop, cont},
		{"go w3 [" + stopped.Fault.Held[0] + "]", cont, len(th.calls)},
	} {
		if at := th.at(c.call); at <= c.behind || at >= c.ahead {
			t.Errorf("%q came at %d of %q", c.call, at, th.calls)
		}
	}
}

// Whatever call fails, and whenever the cell is given up, nobody stays stopped,
// held or armed.
func TestPauseHolderHealsOnEveryPath(t *testing.T) {
	whole := takeover(newTheatre("w1", "w2", "w3"))
	body := 0 // calls up to the end of the pause; later ones only clean up
	said := whole.said
	whole.said = func(f history.Fault) {
		said(f)
		if f.Phase == history.Healed {
			body = len(whole.calls)
		}
	}
	if err := (PauseHolder{}).Run(ctxOf(t), whole.arena(1, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	if body < 10 {
		t.Fatalf("a whole pause is %d calls: %q", body, whole.calls)
	}
	victim := whole.faults(history.Armed)[0].Fault.Victim
	for i, call := range whole.calls[:body] {
		t.Run(fmt.Sprintf("%d fails: %s", i, call), func(t *testing.T) {
			th := takeover(newTheatre("w1", "w2", "w3"))
			th.failing = func(n int, _ string) error {
				if n == i {
					return errTest
				}
				return nil
			}
			// That a new holder cannot be let go on is left to its supervisor.
			tolerated := strings.HasPrefix(call, "go") && !strings.HasPrefix(call, "go "+victim)
			if err := (PauseHolder{}).Run(ctxOf(t), th.arena(1, time.Second)); errors.Is(err, errTest) == tolerated {
				t.Errorf("it ended with %v", err)
			}
			th.healed(t)
		})
		t.Run(fmt.Sprintf("%d given up: %s", i, call), func(t *testing.T) {
			th := takeover(newTheatre("w1", "w2", "w3"))
			if err := givenUp(t, th, i, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("it ended with %v", err)
			}
			th.healed(t)
		})
		t.Run(fmt.Sprintf("%d fails and is given up: %s", i, call), func(t *testing.T) {
			th := takeover(newTheatre("w1", "w2", "w3"))
			if err := givenUp(t, th, i, errTest); err == nil {
				t.Error("it ended well")
			}
			th.healed(t)
		})
	}
}

// givenUp ends the context in the n-th call, which may fail besides.
func givenUp(t *testing.T, th *theatre, n int, failure error) error {
	ctx, cancel := context.WithCancel(ctxOf(t))
	defer cancel()
	th.failing = func(m int, _ string) error {
		if m != n {
			return nil
		}
		cancel()
		return failure
	}
	return PauseHolder{}.Run(ctx, th.arena(1, time.Second))
}

func TestPauseHolderWithoutHolder(t *testing.T) {
	th := newTheatre("w1", "w2")
	th.said = func(f history.Fault) {
		if f.Phase == history.Failed {
			close(th.enough)
		}
	}
	if err := (PauseHolder{}).Run(ctxOf(t), th.arena(1, 50*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if th.at("stop") >= 0 {
		t.Error("a worker without a lock was stopped")
	}
	th.healed(t)
}

// The lease did not end while its holder was stopped: that is an observation,
// and no reason to keep anybody stopped for ever.
func TestPauseHolderWithoutHandover(t *testing.T) {
	const ttl = 100 * time.Millisecond
	th := newTheatre("w1", "w2")
	th.script = func(call string) {
		if strings.HasPrefix(call, "arm w1") {
			th.arrives("w1", "r00")
		}
	}
	th.said = func(f history.Fault) {
		if f.Phase == history.Resumed {
			close(th.enough)
		}
	}
	if err := (PauseHolder{}).Run(ctxOf(t), th.arena(1, ttl)); err != nil {
		t.Fatal(err)
	}
	stopped, resumed := th.faults(history.Stopped)[0], th.faults(history.Resumed)[0]
	if resumed.Fault.Detail != "no handover" {
		t.Errorf("the resume says %q", resumed.Fault.Detail)
	}
	if length := resumed.Time - stopped.Time; length < int64(3*ttl) {
		t.Errorf("it was stopped for %s only", time.Duration(length))
	}
	if got := slices.Concat(stopped.Fault.Written, stopped.Fault.Held); !slices.Equal(got, []string{"r00"}) {
		t.Errorf("gathered were %v", got)
	}
	th.healed(t)
}

// A new holder that waits for the old one's write must not lose its own lease
// meanwhile: it is held for half a lease at most.
func TestPauseHolderHoldsNobodyTooLong(t *testing.T) {
	const ttl = time.Second
	th := takeover(newTheatre("w1", "w2"))
	said := th.said
	th.said = func(f history.Fault) {
		f.Written = nil // nobody writes, so not all has come about
		said(f)
	}
	if err := (PauseHolder{}).Run(ctxOf(t), th.arena(1, ttl)); err != nil {
		t.Fatal(err)
	}
	stopped, resumed := th.faults(history.Stopped)[0], th.faults(history.Resumed)[0]
	if length := time.Duration(resumed.Time - stopped.Time); length < ttl/2 || length > 2*ttl {
		t.Errorf("the new holders were held for %s", length)
	}
	if want := "0 of 4 written, 3 of 3 read"; resumed.Fault.Detail != want {
		t.Errorf("the resume says %q, want %q", resumed.Fault.Detail, want)
	}
	th.healed(t)
}

// The faults as executed are decided by the seed.
func TestPauseHolderIsDecidedBySeed(t *testing.T) {
	executed := func(seed uint64) []history.Fault {
		th := takeover(newTheatre("w1", "w2", "w3"))
		var faults []history.Fault
		said := th.said
		th.said = func(f history.Fault) {
			if f.Phase == history.Stopped {
				faults = append(faults, f)
			}
			if f.Phase != history.Healed {
				said(f)
			} else if len(faults) == 6 {
				close(th.enough)
			}
		}
		if err := (PauseHolder{}).Run(ctxOf(t), th.arena(seed, 50*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		return faults
	}
	bySeed(t, executed)
}

func TestPauseRandom(t *testing.T) {
	const ttl = 20 * time.Millisecond
	th := newTheatre("w1", "w2", "w3")
	th.said = func(f history.Fault) {
		if f.Phase == history.Stopped && len(th.faults(history.Stopped)) == 10 {
			close(th.enough)
		}
	}
	if err := (PauseRandom{}).Run(ctxOf(t), th.arena(1, ttl)); err != nil {
		t.Fatal(err)
	}
	th.healed(t)
	hit := map[string]int{}
	for _, e := range th.faults(history.Stopped) {
		hit[e.Fault.Victim]++
		if planned := time.Duration(e.Fault.Planned); planned < ttl/2 || planned >= 3*ttl {
			t.Errorf("%s was planned", planned)
		}
	}
	if hit["w1"] == 0 || hit["w2"] == 0 || hit["w3"] > 0 {
		t.Errorf("hit were %v", hit)
	}
	if len(th.faults(history.Stopped)) != len(th.faults(history.Healed)) {
		t.Error("not every pause was healed")
	}
}

func TestPauseRandomHealsOnEveryPath(t *testing.T) {
	const ttl = 20 * time.Millisecond
	for _, what := range []string{"stop w1", "stop w2", "continue w1"} {
		t.Run(what+" fails", func(t *testing.T) {
			th := newTheatre("w1", "w2", "w3")
			failed := false
			th.failing = func(_ int, call string) error {
				if call == what && !failed {
					failed = true
					return errTest
				}
				return nil
			}
			if err := (PauseRandom{}).Run(ctxOf(t), th.arena(1, ttl)); !errors.Is(err, errTest) {
				t.Errorf("it ended with %v", err)
			}
			if what == "continue w1" { // which only its end can heal now
				delete(th.stopped, "w1")
			}
			th.healed(t)
		})
	}
	t.Run("given up in a pause", func(t *testing.T) {
		th := newTheatre("w1", "w2")
		ctx, cancel := context.WithCancel(ctxOf(t))
		defer cancel()
		th.said = func(f history.Fault) {
			if f.Phase == history.Stopped {
				cancel()
			}
		}
		if err := (PauseRandom{}).Run(ctx, th.arena(1, ttl)); !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
		th.healed(t)
	})
	t.Run("enough in a pause", func(t *testing.T) {
		th := newTheatre("w1", "w2")
		th.said = func(f history.Fault) {
			if f.Phase == history.Stopped {
				close(th.enough)
			}
		}
		if err := (PauseRandom{}).Run(ctxOf(t), th.arena(1, 5*time.Second)); err != nil {
			t.Error(err)
		}
		stopped, resumed := th.faults(history.Stopped)[0], th.faults(history.Resumed)[0]
		if length := resumed.Time - stopped.Time; length >= stopped.Fault.Planned {
			t.Errorf("it lasted %s as planned, though there was enough", time.Duration(length))
		}
		th.healed(t)
	})
}

func TestKillWorker(t *testing.T) {
	th := newTheatre("w1", "w2", "w3")
	th.said = func(f history.Fault) {
		if f.Phase == history.Healed && len(th.faults(history.Healed)) == 5 {
			close(th.enough)
		}
	}
	if err := (KillWorker{}).Run(ctxOf(t), th.arena(1, 10*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if len(th.workers) != 3 || th.workers[0] != "w1" {
		t.Errorf("alive are %v", th.workers)
	}
	var phases []history.Phase
	for _, e := range th.faults("") {
		phases = append(phases, e.Fault.Phase)
		if e.Fault.Victim == "w1" {
			t.Error("the first worker was killed")
		}
	}
	if want := slices.Repeat([]history.Phase{history.Armed, history.Killed, history.Healed}, 5); !slices.Equal(phases, want) {
		t.Errorf("the phases were %v", phases)
	}
}

func TestKillWorkerFails(t *testing.T) {
	for _, what := range []string{"kill", "replace"} {
		th := newTheatre("w1", "w2")
		th.failing = func(_ int, call string) error {
			if strings.HasPrefix(call, what) {
				return errTest
			}
			return nil
		}
		if err := (KillWorker{}).Run(ctxOf(t), th.arena(1, 10*time.Millisecond)); !errors.Is(err, errTest) {
			t.Errorf("%s fails: %v", what, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	th := newTheatre("w1", "w2")
	if err := (KillWorker{}).Run(ctx, th.arena(1, time.Second)); !errors.Is(err, context.Canceled) || len(th.calls) > 0 {
		t.Errorf("given up: %v, after %q", err, th.calls)
	}
}
