package claims

import (
	"testing"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

// Leases of 100, the first of them until 100.
func TestInTime(t *testing.T) {
	renew := func(call, ret int64, outcome history.Outcome) workloads.Done {
		return workloads.Done{Outcome: outcome, Call: call, Return: ret, LeaseCall: call, LeaseTTL: 100}
	}
	for _, c := range []struct {
		name     string
		renewals []workloads.Done
		want     bool
	}{
		{"none", nil, true},
		{"each in time", []workloads.Done{renew(30, 31, history.OK), renew(60, 61, history.OK), renew(150, 160, history.OK)}, true},
		{"the first too late", []workloads.Done{renew(90, 101, history.OK)}, false},
		{"a later one too late", []workloads.Done{renew(30, 31, history.OK), renew(129, 131, history.OK)}, false},
		{"one was told that it is lost", []workloads.Done{renew(30, 31, history.OK), renew(60, 61, history.Lost)}, false},
		{"one is unknown", []workloads.Done{renew(30, 31, history.Info)}, false},
	} {
		if got := inTime(c.renewals, 100); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
	if n := acknowledged([]workloads.Done{renew(30, 31, history.OK), renew(60, 61, history.Lost), renew(90, 91, history.OK)}, 31, history.Never); n != 1 {
		t.Errorf("%d acknowledged after 31, want 1", n)
	}
}
