package harness

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/nemesis"
	"github.com/torture-harness/torture/workloads"
)

func TestDefaultsAreAPlan(t *testing.T) {
	var p Plan
	p.Defaults()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	if len(p.Strategies) != 8 || len(p.Faults) != 4 {
		t.Errorf("%v × %v", p.Strategies, p.Faults)
	}
}

func TestWrongPlansAreUsage(t *testing.T) {
	for name, change := range map[string]func(*Plan){
		"strategy":  func(p *Plan) { p.Strategies = []string{"x"} },
		"fault":     func(p *Plan) { p.Faults = []string{"x"} },
		"ttl":       func(p *Plan) { p.TTL = time.Millisecond },
		"seconds":   func(p *Plan) { p.TTL = 2500 * time.Millisecond },
		"duration":  func(p *Plan) { p.Duration = time.Millisecond },
		"workers":   func(p *Plan) { p.Workers = 1 },
		"resources": func(p *Plan) { p.Resources = 100 },
		"exposures": func(p *Plan) { p.Exposures = -1 },
		"provider":  func(p *Plan) { p.Provider = "x" },
	} {
		var p Plan
		p.Defaults()
		change(&p)
		if err := p.Validate(); !errors.As(err, &Usage{}) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Tokens that a locker does not give cannot be compared: a usage error, not a
// run that refuses everything.
func TestAGuardThatComparesTokensNeedsThem(t *testing.T) {
	s, err := workloads.Lookup([]string{"setnx", "etcd-fenced"})
	if err != nil {
		t.Fatal(err)
	}
	s[0].Guard = s[1].Guard
	if s[0].Validate() == nil {
		t.Error("setnx with a guard that compares tokens was accepted")
	}
	if err := s[1].Validate(); err != nil {
		t.Error(err)
	}
}

// Every cell of the catalogue has a contract that promises something, and
// under `none` nothing is predicted.
func TestContracts(t *testing.T) {
	for _, s := range workloads.Strategies {
		if s.Extra {
			continue // known to be broken in ways of their own; see workloads/testdata/contracts.txt
		}
		for _, fault := range nemesis.Names() {
			c := s.ContractUnder(fault)
			for _, p := range []checkers.Property{checkers.Progress, checkers.Durability, checkers.Register} {
				if c[p] != checkers.Promised {
					t.Errorf("%s under %s: %s is %q", s.Name, fault, p, c[p])
				}
			}
			if _, has := c[checkers.TokenOrder]; has != s.Locker.Tokens {
				t.Errorf("%s under %s: token-order in the contract: %v, tokens: %v", s.Name, fault, has, s.Locker.Tokens)
			}
			for p, promise := range c {
				if promise == checkers.Predicted && (fault == workloads.FaultNone || fault == workloads.FaultKillWorker) {
					t.Errorf("%s under %s: %s is predicted", s.Name, fault, p)
				}
			}
		}
	}
}

func TestRunFoldersNeverMeet(t *testing.T) {
	results := t.TempDir()
	at := time.Now()
	var mu sync.Mutex
	made := map[string]bool{}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			dir, err := MakeRunDir(results, "compare", at)
			if err != nil {
				t.Error(err)
			}
			if err := PointLatest(dir); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			made[dir] = true
		})
	}
	all.Wait()
	if len(made) != 20 {
		t.Errorf("%d folders for 20 runs", len(made))
	}
	if latest, err := filepath.EvalSymlinks(filepath.Join(results, "latest")); err != nil || !made[latest] {
		t.Errorf("latest is %s, %v", latest, err)
	}
	if entries, _ := os.ReadDir(results); len(entries) != 21 {
		t.Errorf("%d entries, want the 20 runs and latest", len(entries))
	}
}

func TestTallyCountsLateWrites(t *testing.T) {
	write := func(worker string, grantCall, grantReturn, call, ret int64, out history.Outcome) nemesis.Seen {
		return nemesis.Seen{Worker: worker, Resource: "r00", Progress: &workloads.Progress{Kind: history.Write, Worker: worker, Resource: "r00",
			Outcome: out, GrantCall: grantCall, GrantReturn: grantReturn, Call: call, Return: ret, BasisReturn: call - 1}}
	}
	c := newTally()
	c.add(write("w2", 100, 110, 120, 130, history.OK))
	c.add(write("w1", 10, 20, 140, 150, history.Rejected)) // older, sent after the newer was accepted
	if c.lateWrites() != 1 {
		t.Errorf("late = %d, want 1", c.lateWrites())
	}
	c.add(write("w3", 10, 20, 125, 135, history.OK))  // sent before the newer was accepted
	c.add(write("w4", 10, 105, 140, 150, history.OK)) // acquisitions overlap
	if c.lateWrites() != 1 || c.written() != 3 {
		t.Errorf("late = %d, written = %d", c.lateWrites(), c.written())
	}
	lost := write("w5", 200, 210, 300, 310, history.OK)
	lost.Progress.BasisReturn = 220
	c.add(write("w4", 150, 160, 230, 240, history.OK)) // sent after w5 had read, answered before w5 wrote
	c.add(lost)
	if c.lostUpdates() != 1 {
		t.Errorf("lost = %d, want 1", c.lostUpdates())
	}
	if !c.grantedSince(99, []string{"r00"}) || c.grantedSince(200, []string{"r00"}) || c.grantedSince(0, []string{"r01"}) {
		t.Error("grantedSince")
	}
}

func TestBusy(t *testing.T) {
	if got := busyPercent(ticks{10, 100}, ticks{60, 200}); got != 50 {
		t.Errorf("busy %v %%", got)
	}
	now, err := cpuTicks()
	if err != nil || now.all == 0 || now.busy > now.all {
		t.Errorf("%+v, %v", now, err)
	}
}
