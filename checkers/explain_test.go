package checkers

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

func TestExplain(t *testing.T) {
	for _, s := range situations() {
		j := judged(t, s.history, nil, Config{})
		for _, p := range []Property{Register, StaleOverwrite, FenceOrder, RMWAtomic} {
			f := j.Findings[p]
			if f.Verdict != Violated {
				continue
			}
			x, err := Explain(s.history, p, f.Examples[0], time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if x.Result != porcupine.Illegal {
				t.Errorf("%s: %s in the window is %s", s.name, p, x.Result)
			}
			var page bytes.Buffer
			if err := porcupine.Visualize(x.Model, x.Info, &page); err != nil || !strings.Contains(page.String(), "wA") {
				t.Errorf("%s: page of %d bytes, %v", s.name, page.Len(), err)
			}
		}
	}
	if _, err := Explain(recorded(), LeaseExclusion, Example{}, time.Second); err == nil {
		t.Error("lease-exclusion is explained by Porcupine")
	}
	if _, err := Explain(recorded(), Register, Example{Resource: "r99"}, time.Second); err == nil {
		t.Error("a resource that does not exist is explained")
	}
}

// TestExplainEscapes: Porcupine's page sets texts as HTML.
func TestExplainEscapes(t *testing.T) {
	evil := `<img src=x onerror=alert(1)>`
	hist := recorded(acquires("A", "gA", 0, 1), reads("A", 2, 3, "init"), writes("A", "gA", evil, "init", 4, 5), reads("A", 6, 7, evil))
	x, err := Explain(hist, Register, Example{Resource: "r00"}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range x.Operations {
		if text := x.Model.DescribeOperation(o.Input, o.Output); strings.Contains(text, "<") {
			t.Errorf("not escaped: %s", text)
		}
	}
}

// TestExplainIsSmall: the window of a long history is short, contains the
// culprit, and is illegal.
func TestExplainIsSmall(t *testing.T) {
	ops := []op{acquires("A", "gA", 0, 1), reads("A", 2, 3, "init")}
	last, now := "init", int64(10)
	for i := range int64(1000) {
		id := "w" + itoa(i)
		ops = append(ops, acquires("B", "g"+id, now, now+1), reads("B", now+2, now+3, last), writes("B", "g"+id, id, last, now+4, now+5), observed(now+6, now+7, id))
		last, now = id, now+10
	}
	ops = append(ops, writes("A", "gA", "stale", "init", now, now+1))
	hist := recorded(ops...)
	f := judged(t, hist, nil, Config{}).Findings[StaleOverwrite]
	x, err := Explain(hist, StaleOverwrite, f.Examples[0], time.Second)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, o := range x.Operations {
		found = found || o.Input.(*step).op.ID == "stale"
		if o.Call < x.From || o.Return > x.To || o.ClientId >= len(x.Clients) {
			t.Errorf("operation %+v outside of the window or its clients", o)
		}
	}
	if !found || x.Result != porcupine.Illegal || len(x.Operations) > 4*windowWrites {
		t.Errorf("%d operations, %s, culprit shown: %v", len(x.Operations), x.Result, found)
	}
}

// TestWindowIsSound: whatever is cut out of a legal history is legal.
func TestWindowIsSound(t *testing.T) {
	rng := rand.New(rand.NewPCG(bruteSeed, 4))
	illegalWindows := 0
	for range randomHistories / 20 {
		g := generate(rng)
		if g.h.Validate() != nil {
			continue
		}
		e := gather(g.h)[0]
		x := Example{At: rng.Int64N(20)}
		for _, m := range models {
			part := window(e, x, 1+rng.IntN(3), rng.IntN(3))
			start := porcupineModel(m.legal, m.newest, state{current: initial, newest: past})
			if search(start, part.Operations, time.Minute) != illegal {
				continue
			}
			illegalWindows++
			if enumerate(g.h, bruteRules[m.property]) {
				t.Fatalf("%s holds, and a window of it is illegal\n%s", m.property, listing(g.h))
			}
		}
	}
	if illegalWindows == 0 {
		t.Error("no window was illegal, so nothing was shown")
	}
}
