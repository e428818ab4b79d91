package guard

import "context"

// RowLock reads with SELECT … FOR UPDATE in the transaction that writes: the
// store's own lock, which lasts as long as the transaction does and has no
// lease. Who comes meanwhile waits in Enter.
type RowLock struct{}

// Enter begins the transaction, locks the row and reads it.
func (RowLock) Enter(ctx context.Context, q Queryer, id int64, _ Holder) (Entry, error) {
	if _, err := q.Exec(ctx, begin); err != nil {
		return Entry{}, err
	}
	var version int64
	document, err := scan(q.QueryRow(ctx, `SELECT payload, version FROM config WHERE id = $1 FOR UPDATE`, id), ErrMissing, &version)
	if err != nil {
		return Entry{}, rollback(ctx, q, err)
	}
	return Entry{Document: document, Version: version}, nil
}

// Write replaces the document and ends the transaction.
func (RowLock) Write(ctx context.Context, q Queryer, u Update) error {
	if err := write(ctx, q, `UPDATE config SET payload = $1 WHERE id = $2 RETURNING id`, u, u.ID); err != nil {
		return rollback(ctx, q, err)
	}
	return commit(ctx, q)
}

// Leave takes the transaction back.
func (RowLock) Leave(ctx context.Context, q Queryer) error {
	_, err := q.Exec(ctx, "ROLLBACK")
	return err
}
