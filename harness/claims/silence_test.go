package claims

import (
	"testing"
	"time"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
)

func TestSilence(t *testing.T) {
	const ttl = 2 * time.Second
	read := func(took time.Duration) history.Operation {
		return history.Operation{Process: history.Observer, Kind: history.Read, Call: 5, Return: history.Never, Completed: 5 + int64(took)}
	}
	client := read(time.Minute)
	client.Process = "A"
	fault := func(victim string) []history.FaultEvent {
		return []history.FaultEvent{{Fault: history.Fault{Victim: victim}}}
	}
	for name, one := range map[string]struct {
		operations []history.Operation
		faults     []history.FaultEvent
		want       bool
	}{
		"it answered":                   {[]history.Operation{read(time.Millisecond), read(900 * time.Millisecond)}, nil, false},
		"half a lease without answer":   {[]history.Operation{read(time.Second), read(time.Millisecond)}, nil, true},
		"a client that waits":           {[]history.Operation{client}, nil, false},
		"the store itself was stopped":  {[]history.Operation{read(time.Minute)}, fault("postgres"), false},
		"another server was stopped":    {[]history.Operation{read(time.Minute)}, fault("redis-1"), true},
		"nobody looked, nothing to say": {nil, nil, false},
	} {
		if p, got := silence(&history.History{Operations: one.operations, Faults: one.faults}, ttl); got != one.want {
			t.Errorf("%s: %v (%s)", name, got, p.How)
		}
	}
}

func TestOnlyWhatDidNotComeAboutMayBeSilence(t *testing.T) {
	for name, one := range map[string]struct {
		found []Found
		want  bool
	}{
		"all as claimed":     {[]Found{{What: "x", OK: true}}, false},
		"not seen":           {[]Found{{What: "write(A)"}}, true},
		"nobody got on":      {[]Found{{What: string(checkers.Progress), Got: string(checkers.Violated)}}, true},
		"a stale write":      {[]Found{{What: "write(A)"}, {What: string(checkers.StaleOverwrite), Got: string(checkers.Violated)}}, false},
		"no violation shown": {[]Found{{What: string(checkers.RMWAtomic), Got: string(checkers.Holds)}}, true},
	} {
		if got := mayBeSilence(one.found); got != one.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
