package guard

import "context"

// Idempotency does each request once: its name is kept in the transaction of
// its write. It knows nothing of generations: old content under another name is
// another request.
type Idempotency struct{ Plain }

const requests = `CREATE TABLE request (id text PRIMARY KEY)`

// Tables has the names of all requests.
func (Idempotency) Tables() Tables { return Usual().and(requests) }

// Write replaces the document unless the request has been done.
func (Idempotency) Write(ctx context.Context, q Queryer, u Update) error {
	return transaction(ctx, q, begin, func() error {
		if err := first(ctx, q, u); err != nil {
			return err
		}
		return write(ctx, q, `UPDATE config SET payload = $1 WHERE id = $2 RETURNING id`, u, u.ID)
	})
}

// first keeps the name of the request; ErrRejected if it is there already.
func first(ctx context.Context, q Queryer, u Update) error {
	return change(ctx, q, `INSERT INTO request VALUES ($1) ON CONFLICT DO NOTHING RETURNING id`, u.Request)
}

// Forgetful are Idempotency's tables without the key, which keep every name
// again and again.
func Forgetful() Tables { return Usual().and(`CREATE TABLE request (id text)`) }
