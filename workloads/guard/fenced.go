package guard

import "context"

// Fenced lets the store keep the highest token it has accepted and refuse lower
// ones. The fence rises when a holder writes, not when it gets the lock.
type Fenced struct{}

// Enter reads the row.
func (Fenced) Enter(ctx context.Context, q Queryer, id int64, _ Holder) (Entry, error) {
	return Read(ctx, q, id)
}

// Write replaces the document if no newer grant has written.
func (Fenced) Write(ctx context.Context, q Queryer, u Update) error {
	return write(ctx, q, `UPDATE config SET payload = $1, last_fence = $2 WHERE id = $3 AND last_fence < $2 RETURNING id`, u, u.Token, u.ID)
}
