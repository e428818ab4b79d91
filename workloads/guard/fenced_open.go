package guard

import (
	"context"

	"github.com/torture-harness/torture/workloads/point"
)

// FencedOpen is Fenced in a transaction that stays open behind the statement,
// as in a program that does more in it. Who writes meanwhile waits for its end,
// and what it then sees depends on the isolation level
// (https://www.postgresql.org/docs/current/transaction-iso.html).
type FencedOpen struct {
	Fenced
	Isolation string // "" is the server's default, READ COMMITTED
	RollBack  bool   // it is taken back in the end
}

// Write is Fenced's statement between BEGIN and COMMIT.
func (f FencedOpen) Write(ctx context.Context, q Queryer, u Update) error {
	start := begin
	if f.Isolation != "" {
		start += " ISOLATION LEVEL " + f.Isolation
	}
	return transaction(ctx, q, start, func() error {
		if err := f.Fenced.Write(ctx, q, u); err != nil {
			return err
		}
		point.Reach(ctx, point.Between)
		if f.RollBack {
			return ErrRolledBack
		}
		return nil
	})
}
