package workloads_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/lock"
	"github.com/torture-harness/torture/workloads/point"
)

// faults are those that a contract can speak of.
var faults = []string{workloads.FaultNone, workloads.FaultPauseHolder, workloads.FaultPauseRandom, workloads.FaultKillWorker, workloads.FaultDelayWrite, workloads.FaultPauseServer}

func TestPresetsAreValid(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range workloads.Strategies {
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
		if seen[s.Name] || s.Name == "" || s.About == "" {
			t.Errorf("the name %q is taken, or nothing is said about it", s.Name)
		}
		seen[s.Name] = true
		if s.Guard.Guard == nil || s.Locked() == (s.Locker.New == nil) {
			t.Errorf("%s lacks a guard or the making of its lock", s.Name)
		}
		if found, err := workloads.Find(s.Name); err != nil || found.Name != s.Name {
			t.Errorf("%s is not found: %v", s.Name, err)
		}
	}
	if got := strings.Join(workloads.Defaults(), " "); got != "setnx setnx-renew setnx-check redlock etcd-plain etcd-fenced etcd-claim version-cas" {
		t.Errorf("compared by default: %s", got)
	}
}

// A guard that compares tokens means nothing with a lock that has none.
func TestNoFenceWithoutTokens(t *testing.T) {
	for _, locker := range workloads.Lockers {
		for _, guard := range workloads.Guards {
			err := workloads.Strategy{Name: "new", Locker: locker, Guard: guard}.Validate()
			if (err != nil) != (guard.Tokens && !locker.Tokens || guard.Values && !locker.Values) {
				t.Errorf("%s with %s: %v", locker.Name, guard.Name, err)
			}
			if err != nil && !(strings.Contains(err.Error(), locker.Name) && strings.Contains(err.Error(), guard.Name)) {
				t.Errorf("the error does not name both: %v", err)
			}
		}
	}
	if err := (workloads.Strategy{Guard: workloads.Guards[1]}).Validate(); err == nil {
		t.Error("a fence without any lock is accepted")
	}
}

func TestLookup(t *testing.T) {
	found, err := workloads.Lookup([]string{"redlock", "version-cas"})
	if err != nil || len(found) != 2 || found[0].Name != "redlock" || found[1].Name != "version-cas" {
		t.Errorf("found %v, %v", found, err)
	}
	_, err = workloads.Lookup([]string{"setnx", "mutex"})
	if err == nil || !strings.Contains(err.Error(), `"mutex"`) || !strings.Contains(err.Error(), "setnx, setnx-renew") {
		t.Errorf("an unknown strategy: %v", err)
	}
}

var update = flag.Bool("update", false, "write testdata/contracts.txt anew")

// TestContracts: what is promised (!), predicted (?) and allowed (~), as it is
// published. A dot is a property that does not apply.
func TestContracts(t *testing.T) {
	const file = "testdata/contracts.txt"
	var b strings.Builder
	for _, p := range checkers.Properties {
		fmt.Fprintf(&b, "%s ", p)
	}
	b.WriteString("\n")
	sign := map[checkers.Promise]string{checkers.Promised: "!", checkers.Predicted: "?", checkers.Allowed: "~", "": "."}
	for _, s := range workloads.Strategies {
		fmt.Fprintf(&b, "%-20s", s.Name)
		for _, fault := range faults {
			c := s.ContractUnder(fault)
			if err := c.Validate(); err != nil {
				t.Errorf("%s under %s: %v", s.Name, fault, err)
			}
			fmt.Fprintf(&b, "  %s ", fault)
			for _, p := range checkers.Properties {
				promise, applies := c[p]
				if applies == (p == checkers.LeaseExclusion && !s.Locked() || p == checkers.TokenOrder && !s.Locker.Tokens) {
					t.Errorf("%s under %s: %s is %q", s.Name, fault, p, promise)
				}
				b.WriteString(sign[promise])
			}
		}
		b.WriteString("\n")
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, published := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(got), len(published)) {
		if i >= len(got) || i >= len(published) || got[i] != published[i] {
			t.Fatalf("line %d of %s is another; see `go test ./workloads -run TestContracts -update` and read what changes", i+1, file)
		}
	}
}

// TestHonestContracts: whatever the scheme, the baseline is promised as long as
// anything is written, and nothing is predicted without a fault unless the
// scheme needs none to fail.
func TestHonestContracts(t *testing.T) {
	for _, s := range workloads.Strategies {
		failsAlone := s.Name == "no-lock" || s.Name == "fence-next"
		for p, promise := range s.ContractUnder(workloads.FaultNone) {
			if promise != checkers.Promised && !failsAlone && !(p == checkers.FenceOrder && promise == checkers.Allowed) {
				t.Errorf("%s: without a fault %s is %s", s.Name, p, promise)
			}
		}
		for _, fault := range faults {
			c := s.ContractUnder(fault)
			if s.Name != "fence-next" && (c[checkers.Register] != checkers.Promised || c[checkers.Durability] != checkers.Promised) {
				t.Errorf("%s under %s does not promise that the store keeps what it accepts", s.Name, fault)
			}
			// Whatever fulfils one of these fulfils stale-overwrite.
			if c[checkers.StaleOverwrite] == checkers.Predicted && (c[checkers.FenceOrder] == checkers.Promised || c[checkers.RMWAtomic] == checkers.Promised) {
				t.Errorf("%s under %s promises more than it can while stale overwrites are predicted", s.Name, fault)
			}
		}
	}
}

// A caller may change what it was given without changing the preset.
func TestContractIsACopy(t *testing.T) {
	s := workloads.Strategies[0]
	s.ContractUnder(workloads.FaultNone)[checkers.Register] = checkers.Allowed
	if got := s.ContractUnder(workloads.FaultNone)[checkers.Register]; got != checkers.Promised {
		t.Errorf("register is now %q", got)
	}
}

func TestPointIsTheLastBeforeTheWrite(t *testing.T) {
	for name, want := range map[string]string{
		"setnx": workloads.AfterRead, "etcd-claim": workloads.AfterRead, "setnx-check": workloads.AfterCheck,
		"setnx-renew": workloads.AfterCheck, "setnx-renew-ignore": workloads.AfterRead,
		"setnx-incr": workloads.BeforeToken, "setnx-token-later": workloads.BeforeToken, "setnx-incr-script": workloads.AfterRead,
		"fence-two-statements": point.Between, "fence-transaction": point.Between, "fence-for-update": workloads.AfterRead,
	} {
		s, err := workloads.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if s.Point() != want {
			t.Errorf("%s is stopped at %s, want %s", s.Name, s.Point(), want)
		}
	}
}

// TestCompose: a strategy can be put together by name.
func TestCompose(t *testing.T) {
	s, err := workloads.Find("redis-setnx+plain+renew+ignore+bypass")
	if err != nil || s.Locker.Name != "redis-setnx" || s.Guard.Name != "plain" || s.Renew != workloads.RenewInside || !s.Ignore || s.Bypass == nil || s.Check {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := workloads.Find("none+version"); err != nil || s.Locked() {
		t.Errorf("without a lock: %+v, %v", s, err)
	}
	for name, word := range map[string]string{
		"mutex+plain": `locker "mutex"`, "etcd+x": `guard "x"`, "etcd+plain+hope": `habit "hope"`,
		"redis-setnx+fenced": "fencing tokens", "etcd+fence-text": "redis-value-token", "none+owner-cas": "take one",
		"pg-advisory+plain+renew": "renew", "none+plain+check": "check",
	} {
		if _, err := workloads.Find(name); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v, want an error with %q", name, err, word)
		}
	}
}

// TestLockersKeepTheirWord: each locker can do what its kind says.
func TestLockersKeepTheirWord(t *testing.T) {
	nowhere := workloads.Places{Redis: make([]lock.Server, 5), Etcd: []string{"127.0.0.1:1"}, Postgres: "postgres://127.0.0.1:1/x"}
	for _, kind := range workloads.Lockers {
		l, err := kind.New(nowhere, workloads.LockerOptions{TTL: time.Second, Patience: time.Second, Clients: 1, Jitter: lock.NewJitter(1, 1)})
		if err != nil {
			t.Errorf("%s: %v", kind.Name, err)
			continue
		}
		_, draws := l.(lock.Tokener)
		_, checks := l.(lock.Checker)
		_, renews := l.(lock.Renewer)
		if draws != kind.Draws || !checks || renews != kind.Renews {
			t.Errorf("%s: draws %t, checks %t, renews %t", kind.Name, draws, checks, renews)
		}
		_ = l.Close()
	}
}
