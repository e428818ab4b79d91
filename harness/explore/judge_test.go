package explore

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
)

func judged(t *testing.T, p *pretend) result.Explored {
	t.Helper()
	out, err := JudgeCell(t.Context(), p.save())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The checkers know nothing of the model. Of histories in which servers do what
// it says they must come to the same in every schedule.
func TestModelAndCheckersAgree(t *testing.T) {
	for _, name := range append(explored, "setnx-renew", "setnx-renew-ignore", "setnx-incr", "setnx-del", "redis-setnx+version", "redis-setnx+plain+renew+check") {
		_, _, program := modelled(t, name)
		for clients, ids := range map[int][]string{2: slices.Collect(program.All(2)), 3: program.Sample(3, 150, 5)} {
			out := judged(t, pretending(t, name, clients, ids))
			if clients == 2 && out.Status != checkers.Pass {
				t.Errorf("%s: %s: %v", name, out.Status, out.Reasons)
			}
			for _, s := range out.Schedules {
				if !s.AsPlanned || len(s.Differs) > 0 || s.Class != s.Predicted {
					t.Errorf("%s %s: %s, and the model says %s: %v %v", name, s.ID, s.Class, s.Predicted, s.Reasons, s.Differs)
				}
			}
		}
	}
}

// Servers that do otherwise than the model says are told of, and a broken promise
// is a failure.
func TestServersThatDiffer(t *testing.T) {
	p := pretending(t, "etcd-fenced", 2, []string{"AABBBBAA"})
	p.otherwise = func(_ string, i int, b *Beat) {
		if b.Do == history.Write && b.Client == 0 {
			b.Outcome = history.OK
		}
	}
	out := judged(t, p)
	s := out.Schedules[0]
	if out.Status != checkers.Failed || out.Differ != 1 || s.Class != result.Stale || s.Predicted != result.Refused || !s.AsPlanned {
		t.Errorf("%s, %s: %v", out.Status, s.Class, out.Reasons)
	}
	if text := strings.Join(s.Differs, "; "); !strings.Contains(text, "move 7, write of A: the model says rejected, the servers said ok") || !strings.Contains(text, "stale-overwrite holds, and it is violated") {
		t.Errorf("it says: %s", text)
	}
}

// A difference that breaks no promise is no pass either.
func TestDifferenceIsNeverGreen(t *testing.T) {
	p := pretending(t, "etcd-claim", 2, []string{"AAAABBBB"})
	p.otherwise = func(_ string, _ int, b *Beat) {
		if b.Do == history.Release && b.Client == 1 {
			b.Outcome = history.Fail
		}
	}
	if out := judged(t, p); out.Status != checkers.Inconclusive || out.Schedules[0].Class != result.Impossible {
		t.Errorf("%s, %s: %v", out.Status, out.Schedules[0].Class, out.Reasons)
	}
	p = pretending(t, "etcd-claim", 2, []string{"AAAABBBB"})
	p.lasting = true
	if out := judged(t, p); out.Status != checkers.Pass {
		t.Errorf("nobody was stopped, and: %s %v", out.Status, out.Reasons)
	}
	p = pretending(t, "etcd-claim", 2, []string{"AABBBBAA"})
	p.lasting = true
	if out := judged(t, p); out.Status != checkers.Inconclusive || out.Differ != 1 {
		t.Errorf("the server still had the lease, and: %s %v", out.Status, out.Reasons)
	}
}

// What did not run as planned is said to be so, and judged as nothing else.
func TestNotAsPlanned(t *testing.T) {
	for _, one := range []struct {
		name, id, why string
		early         bool
		change        func(*pretend)
	}{
		{"nobody was stopped", "AABBBBAA", "A was not stopped", false, func(p *pretend) { p.neverStop = true }},
		{"stopped too late", "AABBBBAA", "the machine was too slow", true, func(p *pretend) { p.lateStop = true }},
		{"nothing was held", "AAaBBBBAA", "was not held", false, func(p *pretend) { p.unheld = true }},
		{"steps overlap", "AAAABBBB", "began before", false, func(p *pretend) { p.overlap = true }},
		{"no lock", "AAAABBBB", "did not get the lock", false, func(p *pretend) {
			p.otherwise = func(_ string, _ int, b *Beat) {
				if b.Client == 1 {
					b.Outcome = Skipped
				}
			}
		}},
		{"the end of the lease came too soon", "AAAABBBB", "the machine was too slow", true, func(p *pretend) {
			p.otherwise = func(_ string, _ int, b *Beat) {
				if b.Client == 0 && b.Do == history.Release {
					p.now += 2 * int64(pretendTTL)
					b.Outcome = history.Lost
				}
			}
		}},
	} {
		p := pretending(t, "setnx", 2, []string{one.id})
		one.change(p)
		out := judged(t, p)
		s := out.Schedules[0]
		if s.AsPlanned || s.Class != result.Impossible || out.Status != checkers.Inconclusive || !strings.Contains(strings.Join(s.Reasons, "; "), one.why) {
			t.Errorf("%s: %s, %s: %v", one.name, out.Status, s.Class, s.Reasons)
		}
	}
}

// A lock that is lost while its lease lasts is no slow machine.
func TestLostWithoutReason(t *testing.T) {
	p := pretending(t, "setnx-check", 2, []string{"AAAAABBBBB"})
	p.otherwise = func(_ string, _ int, b *Beat) {
		if b.Client == 0 && b.Do == history.Check {
			b.Outcome = history.Lost
		}
	}
	s := judged(t, p).Schedules[0]
	if !s.AsPlanned || len(s.Differs) == 0 || !strings.Contains(s.Differs[0], "check of A: the model says ok, the servers said lost") {
		t.Errorf("%v %v", s.Reasons, s.Differs)
	}
}

// A plan of which something was not run does not pass, and a prediction that no
// schedule of it can fulfil is not asked for.
func TestPartsOfThePlan(t *testing.T) {
	if out := judged(t, pretending(t, "setnx", 2, []string{"AAAABBBB"})); out.Status != checkers.Pass {
		t.Errorf("no schedule of it violates anything: %s %v", out.Status, out.Reasons)
	}
	p := pretending(t, "setnx", 2, []string{"AAAABBBB"})
	dir := p.save()
	p.plan.Schedules = append(p.plan.Schedules, "AABBBBAA")
	if err := saveJSON(dir, "plan.json", p.plan); err != nil {
		t.Fatal(err)
	}
	out, err := JudgeCell(t.Context(), dir)
	if err != nil || out.Status != checkers.Inconclusive || out.Schedules[1].Class != result.Impossible {
		t.Errorf("%s: %v, %v", out.Status, out.Reasons, err)
	}
}

func saveJSON(dir, name string, v any) error { return harness.SaveJSON(filepath.Join(dir, name), v) }
