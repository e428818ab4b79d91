package claims

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness"
)

// quiet is a Progress that remembers the rows.
type quiet struct {
	t  *testing.T
	mu sync.Mutex
	n  int
}

func (q *quiet) Say(format string, args ...any) { q.t.Logf(format, args...) }
func (q *quiet) Row(_, _ int, row Row) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.n++
	q.t.Logf("%s: %s", row.ID, row.Verdict)
}

// Some claims of every kind, and what breaks them, on real servers; then the
// saved run is judged again.
func TestRun(t *testing.T) {
	ids := []string{"C4", "C9", "C30"}
	for _, selfTest := range []bool{false, true} {
		p := &quiet{t: t}
		res, dir, err := Run(context.Background(), Options{IDs: ids, SelfTest: selfTest, Seed: 1, Provider: "process", Results: t.TempDir()}, p)
		if err != nil {
			t.Fatal(err)
		}
		if res.Status != checkers.Pass || p.n != len(res.Claims) || len(res.Claims) < len(ids) {
			t.Errorf("self-test %t: %s, %d rows of %d told: %+v", selfTest, res.Status, p.n, len(res.Claims), res.Claims)
		}
		page, err := os.ReadFile(filepath.Join(dir, "report.html"))
		if err != nil || !strings.Contains(string(page), "C30") {
			t.Errorf("the report: %v", err)
		}
		again, err := Check(context.Background(), dir)
		if err != nil || again.Status != res.Status {
			t.Errorf("judged again: %s, %v", again.Status, err)
		}
		for i, row := range again.Claims {
			if row.Verdict != res.Claims[i].Verdict {
				t.Errorf("%s judged again is %s, and was %s", row.ID, row.Verdict, res.Claims[i].Verdict)
			}
		}
	}
}

func TestUnknownClaim(t *testing.T) {
	_, dir, err := Run(context.Background(), Options{IDs: []string{"C9", "C99"}, Results: t.TempDir()}, &quiet{t: t})
	if !errors.As(err, &harness.Usage{}) || !strings.Contains(err.Error(), `"C99"`) || dir != "" {
		t.Errorf("%v, %q", err, dir)
	}
}

// An interruption ends a run in order: what was played is saved, and nothing is
// called as claimed that has not been seen.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &interrupting{quiet{t: t}, cancel}
	res, dir, err := Run(ctx, Options{IDs: []string{"C9", "C30"}, Provider: "process", Results: t.TempDir()}, p)
	if err == nil || res.Status != checkers.Inconclusive || dir == "" {
		t.Errorf("%s, %v", res.Status, err)
	}
}

type interrupting struct {
	quiet
	cancel context.CancelFunc
}

// Say interrupts once the servers are ready.
func (i *interrupting) Say(format string, args ...any) {
	if strings.HasPrefix(format, "servers ready") {
		i.cancel()
	}
}
