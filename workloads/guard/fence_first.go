package guard

import "context"

// FenceFirst is Fenced with a shortcut that looks safe: where nobody had written
// yet when the holder read there is no number to compare with, so that its write
// goes by id alone; has the client not made sure of its lock a moment ago? In that
// one branch the check comes before the write and not with it. Broken on purpose.
type FenceFirst struct{ Fenced }

// Enter reads the row, and in the place of its version the highest token that it
// has accepted.
func (FenceFirst) Enter(ctx context.Context, q Queryer, id int64, _ Holder) (Entry, error) {
	var fence int64
	document, err := scan(q.QueryRow(ctx, `SELECT payload, last_fence FROM config WHERE id = $1`, id), ErrMissing, &fence)
	return Entry{Document: document, Version: fence}, err
}

// Write replaces the document if no newer grant has written, or if nobody had when
// it was read.
func (g FenceFirst) Write(ctx context.Context, q Queryer, u Update) error {
	if u.Version > 0 {
		return g.Fenced.Write(ctx, q, u)
	}
	return write(ctx, q, `UPDATE config SET payload = $1, last_fence = $2 WHERE id = $3 RETURNING id`, u, u.Token, u.ID)
}
