package guard

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// transaction does something between BEGIN and COMMIT, or takes it back.
// begin may name an isolation level. Whatever ends before the COMMIT is sent has
// no effect; the answer to COMMIT is judged like that to any statement.
func transaction(ctx context.Context, q Queryer, begin string, do func() error) error {
	if _, err := q.Exec(ctx, begin); err != nil {
		return err
	}
	if err := do(); err != nil {
		return rollback(ctx, q, err)
	}
	return commit(ctx, q)
}

func commit(ctx context.Context, q Queryer) error {
	tag, err := q.Exec(ctx, "COMMIT")
	switch {
	case err == nil && tag.String() != "COMMIT":
		return fmt.Errorf("%w: COMMIT was answered with %s", ErrRolledBack, tag)
	case pgconn.SafeToRetry(err):
		// Not wrapped: when the answer to a statement without arguments is lost,
		// pgx 5.12 says "conn closed" as if nothing had been sent.
		return fmt.Errorf("COMMIT: %v", err)
	}
	return err
}

// ErrRolledBack is returned when a transaction was taken back: nothing happened.
var ErrRolledBack = errors.New("rolled back")

// rollback takes the transaction back after why. If that fails the connection
// is as good as lost, and with it the transaction.
func rollback(ctx context.Context, q Queryer, why error) error {
	if _, err := q.Exec(ctx, "ROLLBACK"); err != nil {
		return fmt.Errorf("%w; and the rollback failed: %v", why, err)
	}
	return why
}

const begin = "BEGIN"
