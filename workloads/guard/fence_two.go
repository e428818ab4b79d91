package guard

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/torture-harness/torture/workloads/point"
)

// FenceTwo reads the number, compares it itself, and writes by id alone: in two
// statements, or in two of one transaction, between which a newer holder may
// write. Locked, it locks the row as it reads, and nobody can.
type FenceTwo struct {
	Plain
	Transaction bool
	Locked      bool
}

// Write replaces the document if the number it has read is lower.
func (f FenceTwo) Write(ctx context.Context, q Queryer, u Update) error {
	if f.Transaction {
		return transaction(ctx, q, begin, func() error { return f.write(ctx, q, u) })
	}
	return f.write(ctx, q, u)
}

func (f FenceTwo) write(ctx context.Context, q Queryer, u Update) error {
	read := `SELECT last_fence FROM config WHERE id = $1`
	if f.Locked {
		read += ` FOR UPDATE`
	}
	var last int64
	err := q.QueryRow(ctx, read, u.ID).Scan(&last)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return ErrRejected
	case err != nil:
		return err
	case last >= u.Token:
		return ErrRejected
	}
	point.Reach(ctx, point.Between)
	return write(ctx, q, `UPDATE config SET payload = $1, last_fence = $2 WHERE id = $3 RETURNING id`, u, u.Token, u.ID)
}
