package guard

import "context"

// FenceText compares the random values of holdings as if they were tokens. A
// value says "is it me", not "is it an old generation": what it refuses is luck.
type FenceText struct{ Plain }

// Tables keeps the largest value, compared byte by byte.
func (FenceText) Tables() Tables {
	return Usual().and(`ALTER TABLE config ADD last_value text COLLATE "C" NOT NULL DEFAULT ''`)
}

// Write replaces the document if the value is larger than the last.
func (FenceText) Write(ctx context.Context, q Queryer, u Update) error {
	return write(ctx, q, `UPDATE config SET payload = $1, last_value = $2 WHERE id = $3 AND last_value < $2 RETURNING id`, u, u.Value, u.ID)
}
