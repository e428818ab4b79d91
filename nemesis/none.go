package nemesis

import (
	"context"

	"github.com/torture-harness/torture/workloads"
)

// None does nothing: the control in which nothing may be violated.
type None struct{}

// Name is "none".
func (None) Name() string { return workloads.FaultNone }

// About says what it does.
func (None) About() string { return "nothing; whatever is violated here is broken without any help" }

// Run waits.
func (None) Run(ctx context.Context, a *Arena) error {
	select {
	case <-a.Enough:
	case <-ctx.Done():
	}
	return ctx.Err()
}
