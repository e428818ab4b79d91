package guard

import "context"

// FenceUnlogged keeps the numbers in a table that PostgreSQL empties after a
// crash (https://www.postgresql.org/docs/current/sql-createtable.html, UNLOGGED).
// A missing number counts as 0. Until then it is as good as Fenced: one
// statement raises the number and writes.
type FenceUnlogged struct{ Plain }

// Tables has the numbers beside the content.
func (FenceUnlogged) Tables() Tables {
	return Usual().and(`CREATE UNLOGGED TABLE fence (id bigint PRIMARY KEY, last_fence bigint NOT NULL)`)
}

// Write raises the number and replaces the document.
func (FenceUnlogged) Write(ctx context.Context, q Queryer, u Update) error {
	return write(ctx, q, `WITH raised AS (
		INSERT INTO fence AS f (id, last_fence) VALUES ($3, $2)
		ON CONFLICT (id) DO UPDATE SET last_fence = excluded.last_fence WHERE f.last_fence < excluded.last_fence RETURNING id)
	UPDATE config SET payload = $1 WHERE id = (SELECT id FROM raised) RETURNING id`, u, u.Token, u.ID)
}
