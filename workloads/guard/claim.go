package guard

import "context"

// Claim raises the fence when a holder reads. From then on every older grant is
// refused, also one whose write would have arrived before the new holder's.
type Claim struct{}

// Enter raises the fence and reads in one statement; ErrRejected if a newer
// grant has claimed. A missing row looks the same: see Read.
func (Claim) Enter(ctx context.Context, q Queryer, id int64, h Holder) (Entry, error) {
	document, err := scan(q.QueryRow(ctx, `UPDATE config SET last_fence = $1 WHERE id = $2 AND last_fence < $1 RETURNING payload`, h.Token, id), ErrRejected)
	return Entry{Document: document}, err
}

// Write replaces the document if the claim still stands.
func (Claim) Write(ctx context.Context, q Queryer, u Update) error {
	return write(ctx, q, `UPDATE config SET payload = $1 WHERE id = $2 AND last_fence = $3 RETURNING id`, u, u.ID, u.Token)
}
