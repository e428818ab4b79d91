package workloads_test

import (
	"strings"
	"testing"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/workloads"
)

// faults are those that a contract can speak of.
var faults = []string{workloads.FaultNone, workloads.FaultPauseHolder, workloads.FaultPauseRandom, workloads.FaultKillWorker}

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
	}
	if got := strings.Join(workloads.Defaults(), " "); got != "setnx redlock etcd-plain etcd-fenced etcd-claim version-cas" {
		t.Errorf("compared by default: %s", got)
	}
}

// A guard that compares tokens means nothing with a lock that has none.
func TestNoFenceWithoutTokens(t *testing.T) {
	for _, locker := range workloads.Lockers {
		for _, guard := range workloads.Guards {
			err := workloads.Strategy{Name: "new", Locker: locker, Guard: guard}.Validate()
			if (err != nil) != (guard.Tokens && !locker.Tokens) {
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
	if err == nil || !strings.Contains(err.Error(), `"mutex"`) || !strings.Contains(err.Error(), "setnx, redlock") {
		t.Errorf("an unknown strategy: %v", err)
	}
}

// TestContracts: what is promised (!), predicted (?) and allowed (~), as it is
// published; everything else that applies is promised.
func TestContracts(t *testing.T) {
	const (
		stale, fence, rmw = checkers.StaleOverwrite, checkers.FenceOrder, checkers.RMWAtomic
		promised          = checkers.Promised
		predicted         = checkers.Predicted
		allowed           = checkers.Allowed
	)
	type terms map[checkers.Property]checkers.Promise
	plain := map[string]terms{
		"none":         {stale: promised, fence: promised, rmw: promised},
		"pause-holder": {stale: predicted, fence: predicted, rmw: predicted},
		"pause-random": {stale: predicted, fence: allowed, rmw: allowed},
		"kill-worker":  {stale: allowed, fence: allowed, rmw: allowed},
	}
	want := map[string]map[string]terms{
		"setnx": plain, "redlock": plain, "etcd-plain": plain,
		"setnx-check": {
			"none": plain["none"], "pause-holder": plain["pause-holder"], "kill-worker": plain["kill-worker"],
			"pause-random": {stale: allowed, fence: allowed, rmw: allowed}, // its gap is seldom hit blindly
		},
		"etcd-fenced": {
			"none":         {stale: promised, fence: promised, rmw: promised},
			"pause-holder": {stale: promised, fence: promised, rmw: predicted},
			"pause-random": {stale: promised, fence: promised, rmw: allowed},
			"kill-worker":  {stale: promised, fence: promised, rmw: allowed},
		},
	}
	all := map[string]terms{}
	noOrder := map[string]terms{}
	for _, fault := range faults {
		all[fault] = terms{stale: promised, fence: promised, rmw: promised}
		noOrder[fault] = terms{stale: promised, fence: allowed, rmw: promised}
	}
	want["etcd-claim"], want["version-cas"] = all, noOrder

	for _, s := range workloads.Strategies {
		for _, fault := range faults {
			terms, ok := want[s.Name][fault]
			if !ok {
				t.Errorf("no contract of %s under %s is published", s.Name, fault)
				continue
			}
			got := s.ContractUnder(fault)
			for _, p := range checkers.Properties {
				is, applies := got[p]
				expected, named := terms[p]
				if !named {
					expected = promised
				}
				applicable := !(p == checkers.LeaseExclusion && !s.Locked()) && !(p == checkers.TokenOrder && !s.Locker.Tokens)
				if applies != applicable || applies && is != expected {
					t.Errorf("%s under %s: %s is %q (applies: %t), want %q (applies: %t)", s.Name, fault, p, is, applies, expected, applicable)
				}
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
	for _, s := range workloads.Strategies {
		want := workloads.AfterRead
		if s.Check {
			want = workloads.AfterCheck
		}
		if s.Point() != want {
			t.Errorf("%s is stopped at %s, want %s", s.Name, s.Point(), want)
		}
	}
}
