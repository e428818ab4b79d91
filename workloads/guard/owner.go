package guard

import "context"

// Owner marks the row with the holding's random value when a holder reads, and
// demands at the write that the mark still stands: the check-and-set proposed
// for Redlock's value (http://antirez.com/news/101).
type Owner struct{}

// Tables has a column for the mark.
func (Owner) Tables() Tables { return Usual().and(`ALTER TABLE config ADD owner text`) }

// Enter marks and reads in one statement, whoever has marked before.
func (Owner) Enter(ctx context.Context, q Queryer, id int64, h Holder) (Entry, error) {
	document, err := scan(q.QueryRow(ctx, `UPDATE config SET owner = $1 WHERE id = $2 RETURNING payload`, h.Value, id), ErrMissing)
	return Entry{Document: document}, err
}

// Write replaces the document if nobody has marked since.
func (Owner) Write(ctx context.Context, q Queryer, u Update) error {
	return write(ctx, q, `UPDATE config SET payload = $1 WHERE id = $2 AND owner = $3 RETURNING id`, u, u.ID, u.Value)
}
