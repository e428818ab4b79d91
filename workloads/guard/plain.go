package guard

import "context"

// Plain writes by id alone: whoever comes last wins.
type Plain struct{}

// Enter reads the row.
func (Plain) Enter(ctx context.Context, q Queryer, id int64, _ Holder) (Entry, error) {
	return Read(ctx, q, id)
}

// Write replaces the document, whatever is there.
func (Plain) Write(ctx context.Context, q Queryer, u Update) error {
	return write(ctx, q, `UPDATE config SET payload = $1 WHERE id = $2 RETURNING id`, u, u.ID)
}
