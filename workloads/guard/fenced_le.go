package guard

import "context"

// FencedLE accepts the number it has accepted before, "token >= last", as the
// documentation of some fenced locks asks for. One grant may so write twice, and
// so may everybody who has the same number.
type FencedLE struct{ Plain }

// Write replaces the document if no larger number has been accepted.
func (FencedLE) Write(ctx context.Context, q Queryer, u Update) error {
	return write(ctx, q, `UPDATE config SET payload = $1, last_fence = $2 WHERE id = $3 AND last_fence <= $2 RETURNING id`, u, u.Token, u.ID)
}
