package report

import (
	"os"
	"testing"

	"github.com/torture-harness/torture/checkers"
)

func TestRun(t *testing.T) {
	dir := os.Getenv("SHOT")
	if dir == "" {
		dir = t.TempDir()
	}
	r := shoot(t, dir)
	for _, c := range r.Cells {
		if c.Status != checkers.Pass {
			t.Errorf("%s under %s: %s %v", c.Strategy, c.Fault, c.Status, c.Reasons)
		}
	}
	must(t, Write(dir))
	Table(os.Stdout, r, 80, false)
}
