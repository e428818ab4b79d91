package explore

import (
	"strings"
	"testing"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
	"github.com/torture-harness/torture/workloads"
)

// explored are the strategies of the first table.
var explored = []string{"setnx", "setnx-check", "redlock", "etcd-plain", "etcd-fenced", "etcd-claim", "version-cas"}

func modelled(t *testing.T, name string) (workloads.Strategy, Model, Program) {
	t.Helper()
	s, err := workloads.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := ModelOf(s)
	if err != nil {
		t.Fatal(err)
	}
	return s, m, ProgramOf(s)
}

func forecast(t *testing.T, name, id string) Forecast {
	t.Helper()
	_, m, p := modelled(t, name)
	moves, err := p.Moves(id)
	if err != nil {
		t.Fatal(err)
	}
	return m.Forecast(moves)
}

// The known situations of the claims, as schedules.
func TestForecast(t *testing.T) {
	for _, one := range []struct {
		strategy, id string
		class        result.Class
		group        string
	}{
		{"setnx", "AAAABBBB", result.Clean, result.NobodyStopped},
		{"setnx", "AABBBBAA", result.Stale, result.StoppedAfterRead},                // C9
		{"setnx", "AABBAABB", result.LostUpdate, result.StoppedAfterRead},           // C36
		{"setnx", "ABBBBAAA", result.LateOnNewest, result.StoppedAfterAcquire},      // it reads late
		{"setnx", "AAaBBBBAA", result.Stale, result.StoppedInFlight},                // C16b
		{"setnx", "AAABBBBA", result.Clean, result.StoppedAfterWrite},               //
		{"setnx-check", "AAABBBBBAA", result.Stale, result.StoppedAfterCheck},       // C17(a)
		{"setnx-check", "AABBBBBAAA", result.Refused, result.StoppedAfterRead},      // C17(b)
		{"setnx-check", "AAAaBBBBBAA", result.Stale, result.StoppedInFlight},        // C16b
		{"etcd-fenced", "AABBBBAA", result.Refused, result.StoppedAfterRead},        // C30
		{"etcd-fenced", "AABBAABB", result.LostUpdate, result.StoppedAfterRead},     // C36
		{"etcd-claim", "AABBAABB", result.Refused, result.StoppedAfterRead},         // X11
		{"etcd-claim", "ABBAABBA", result.Refused, result.StoppedAfterAcquire},      // the claim itself is late
		{"etcd-fenced", "ABBBBAAA", result.Refused, result.StoppedAfterAcquire},     //
		{"version-cas", "ABBA", result.Refused, result.NoLock},                      // C48
		{"version-cas", "AaBBA", result.Refused, result.NoLock},                     //
		{"setnx-del", "AABAABBB", result.LockViolated, result.StoppedAfterRead},     // C7(a)
		{"setnx-incr", "AABBBBBAAA", result.Stale, result.StoppedAfterRead},         // its token is drawn late
		{"setnx-renew", "AABBBBBAAA", result.Refused, result.StoppedAfterRead},      // it finds out at its renewal
		{"setnx-renew-ignore", "AABBBBBAAA", result.Stale, result.StoppedAfterRead}, // and does not care
		{"etcd-fenced", "AABBACABCBCC", result.LostUpdate, result.StoppedAfterRead}, // of three
	} {
		s, _, _ := modelled(t, one.strategy)
		f := forecast(t, one.strategy, one.id)
		if f.Class() != one.class || f.groupOf(s.Locked()) != one.group {
			t.Errorf("%s %s: %s, %s; want %s, %s", one.strategy, one.id, f.Class(), f.groupOf(s.Locked()), one.class, one.group)
		}
	}
}

// The holder is stopped for whoever wants its lock, and for nobody else.
func TestForecastStops(t *testing.T) {
	for _, b := range forecast(t, "etcd-fenced", "AABBBBAA").Beats {
		want := -1
		if b.Client == 1 && b.Do == history.Acquire {
			want = 0
		}
		if b.Stop != want {
			t.Errorf("%s of %s stops %d", b.Do, Name(b.Client), b.Stop)
		}
	}
	for _, b := range forecast(t, "etcd-fenced", "AAAABBBB").Beats {
		if b.Stop >= 0 {
			t.Errorf("%s of %s stops %d although the lock was given back", b.Do, Name(b.Client), b.Stop)
		}
	}
}

// What the model says of all schedules is what the contracts promise: no promise
// is broken in any, and each predicted violation occurs in one.
func TestForecastsKeepContracts(t *testing.T) {
	for _, name := range append(explored, "setnx-renew", "setnx-incr", "setnx-del", "fence-trigger", "setnx-incr-script", "redsync", "redislock", "idempotency-key") {
		s, m, p := modelled(t, name)
		contract := contractOf(s)
		found := map[checkers.Property]bool{}
		for id := range p.All(2) {
			moves, err := p.Moves(id)
			if err != nil {
				t.Fatal(err)
			}
			for property, broken := range m.Forecast(moves).Violated {
				found[property] = found[property] || broken
				if broken && contract[property] == checkers.Promised {
					t.Errorf("%s promises %s, and %s breaks it", name, property, id)
				}
			}
		}
		for _, property := range Layered {
			if contract[property] == checkers.Predicted && !found[property] {
				t.Errorf("%s predicts a violation of %s, and no schedule has one", name, property)
			}
		}
	}
}

func TestModelOfRefusesWhatItDoesNotKnow(t *testing.T) {
	for name, why := range map[string]string{
		"advisory-lock": "locker pg-advisory", "row-lock": "guard row-lock", "setnx-renew-outside": "renewed while", "retry-old-content": "again after",
		"fence-bypass": "by chance",
	} {
		s, err := workloads.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ModelOf(s); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
