package nemesis

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// pausedServers plays so many pauses.
func pausedServers(t *testing.T, seed uint64, many int, kinds ...string) *theatre {
	t.Helper()
	th := newTheatre("w1", "w2")
	th.machines.kinds = kinds
	th.said = func(f history.Fault) {
		if f.Phase == history.Healed && len(th.faults(history.Healed)) == many {
			close(th.enough)
		}
	}
	if err := (PauseServer{}).Run(ctxOf(t), th.arena(seed, 10*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	th.healed(t)
	return th
}

func TestPauseServer(t *testing.T) {
	const ttl = 10 * time.Millisecond
	th := pausedServers(t, 1, 12, "redis", "etcd", "postgres")
	var phases []history.Phase
	kinds := map[string]int{}
	for _, e := range th.faults("") {
		phases = append(phases, e.Fault.Phase)
		if e.Worker != "" {
			t.Errorf("a server was recorded as worker %q", e.Worker)
		}
		if planned := time.Duration(e.Fault.Planned); planned < ttl/2 || planned >= 2*ttl {
			t.Errorf("%s was planned", planned)
		}
		if e.Fault.Phase == history.Stopped {
			kind, _, _ := strings.Cut(e.Fault.Victim, "-")
			kinds[kind]++
		}
	}
	if want := slices.Repeat([]history.Phase{history.Armed, history.Stopped, history.Resumed, history.Healed}, 12); !slices.Equal(phases, want) {
		t.Errorf("the phases were %v", phases)
	}
	if kinds["redis"] != 4 || kinds["etcd"] != 4 || kinds["postgres"] != 4 {
		t.Errorf("hit were %v", kinds)
	}
	stopped, resumed := th.faults(history.Stopped), th.faults(history.Resumed)
	for i := range stopped {
		if length := resumed[i].Time - stopped[i].Time; length < stopped[i].Fault.Planned && i < 11 {
			t.Errorf("stopped for %s, planned were %s", time.Duration(length), time.Duration(stopped[i].Fault.Planned))
		}
	}
}

func TestPauseServerBySeed(t *testing.T) {
	executed := func(seed uint64) (all []history.Fault) {
		for _, e := range pausedServers(t, seed, 6, "redis", "postgres").faults(history.Stopped) {
			all = append(all, *e.Fault)
		}
		return all
	}
	bySeed(t, executed)
}

func TestPauseServerHealsOnEveryPath(t *testing.T) {
	for _, what := range []string{"pick", "stop", "continue"} {
		t.Run(what+" fails", func(t *testing.T) {
			th := newTheatre("w1", "w2")
			th.failing = func(_ int, call string) error {
				if strings.HasPrefix(call, what) {
					return errTest
				}
				return nil
			}
			if err := (PauseServer{}).Run(ctxOf(t), th.arena(1, 10*time.Millisecond)); !errors.Is(err, errTest) {
				t.Errorf("it ended with %v", err)
			}
			if what == "continue" { // which only its end can heal now
				clear(th.stopped)
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
		if err := (PauseServer{}).Run(ctx, th.arena(1, time.Second)); !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
		th.healed(t)
	})
	t.Run("without servers", func(t *testing.T) {
		a := newTheatre("w1", "w2").arena(1, time.Second)
		a.Servers = nil
		if err := (PauseServer{}).Run(ctxOf(t), a); err == nil || !strings.Contains(err.Error(), "servers") {
			t.Errorf("it ended with %v", err)
		}
	})
}
