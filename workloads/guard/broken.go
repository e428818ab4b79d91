package guard

import "context"

// ClaimGE is Claim whose write is content with a higher fence than its own:
// whoever claims later does not stop it. Broken on purpose.
type ClaimGE struct{ Claim }

// Write replaces the document if it has claimed, whoever has since.
func (ClaimGE) Write(ctx context.Context, q Queryer, u Update) error {
	return write(ctx, q, `UPDATE config SET payload = $1 WHERE id = $2 AND last_fence >= $3 RETURNING id`, u, u.ID, u.Token)
}

// FenceUnchecked keeps the number and compares nothing. Broken on purpose.
type FenceUnchecked struct{ Plain }

// Write replaces the document and the number.
func (FenceUnchecked) Write(ctx context.Context, q Queryer, u Update) error {
	return write(ctx, q, `UPDATE config SET payload = $1, last_fence = $2 WHERE id = $3 RETURNING id`, u, u.Token, u.ID)
}

// FenceTurned has the comparison the wrong way round: it accepts what is lower
// than the number it keeps. Broken on purpose.
type FenceTurned struct{ Plain }

// Write replaces the document if a larger number has been accepted.
func (FenceTurned) Write(ctx context.Context, q Queryer, u Update) error {
	return write(ctx, q, `UPDATE config SET payload = $1, last_fence = $2 WHERE id = $3 AND last_fence > $2 RETURNING id`, u, u.Token, u.ID)
}
