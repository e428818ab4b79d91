package guard

import "context"

// Version is the conditional update on the row's own version: no token and no
// lock needed.
type Version struct{}

// Enter reads the row and its version.
func (Version) Enter(ctx context.Context, q Queryer, id int64, _ Holder) (Entry, error) {
	return Read(ctx, q, id)
}

// Write replaces the document if nobody has since it was read.
func (Version) Write(ctx context.Context, q Queryer, u Update) error {
	return write(ctx, q, `UPDATE config SET payload = $1, version = version + 1 WHERE id = $2 AND version = $3 RETURNING id`, u, u.ID, u.Version)
}
