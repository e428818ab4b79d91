package guard

import "context"

// FenceNext demands that no number is left out. Revisions of etcd have gaps, and
// every holder that ends without writing leaves one, so soon nobody can write.
type FenceNext struct{ Plain }

// Write replaces the document if the number is the next.
func (FenceNext) Write(ctx context.Context, q Queryer, u Update) error {
	return write(ctx, q, `UPDATE config SET payload = $1, last_fence = $2 WHERE id = $3 AND last_fence = $2 - 1 RETURNING id`, u, u.Token, u.ID)
}
