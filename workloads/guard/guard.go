// Package guard is how the store accepts a write, one file per guard. The
// statements are what a user would write, sent unchanged, READ COMMITTED and in
// autocommit.
package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrRejected is returned when the store answered that the statement changed no row.
var ErrRejected = errors.New("the store refused it: no row")

// ErrMissing is returned by a read of a row that does not exist.
var ErrMissing = errors.New("the row is missing")

// ErrAmbiguous is returned when a statement changed more than one row. It took
// effect, more than once.
var ErrAmbiguous = errors.New("the id is not unique")

// Document is the shared config: the whole of it is read, and the whole of it
// is written back.
type Document struct {
	WriteID string         `json:"write_id"`
	Grant   string         `json:"grant"`
	Basis   string         `json:"basis"`
	Fields  map[string]int `json:"fields"` // one per client: how often it has updated
}

// With is the document after one more update by a client.
func (d Document) With(client string) Document {
	fields := map[string]int{}
	maps.Copy(fields, d.Fields)
	fields[client]++
	d.Fields = fields
	return d
}

// Entry is what a client read, and what it needs to write back.
type Entry struct {
	Document Document
	Version  int64 // 0 after a claim, which has no use for it
}

// Holder is who wants to update: what its lock gave it.
type Holder struct {
	Token int64  // fencing token, 0 if it has none
	Value string // the random value of its holding, "" without a lock
}

// Update is a write of a whole document.
type Update struct {
	ID       int64 // of the row
	Document Document
	Token    int64  // as in Holder
	Value    string // as in Holder
	Key      string // of the lock, "" without one
	Version  int64  // of the row when it was read
	Request  string // names the request for which it is done; a resend has the same
}

// Queryer is the part of a PostgreSQL connection that a guard needs.
type Queryer interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Guard reads and writes rows of its Tables.
type Guard interface {
	// Enter reads the row for an update by a holder.
	Enter(ctx context.Context, q Queryer, id int64, h Holder) (Entry, error)
	// Write writes it back; ErrRejected if the store refused.
	Write(ctx context.Context, q Queryer, u Update) error
}

// Leaver is a Guard whose Enter leaves something open that Write ends.
type Leaver interface {
	// Leave ends it if there will be no Write.
	Leave(ctx context.Context, q Queryer) error
}

// Read is the plain read of a row: what Enter is for guards that do not claim.
func Read(ctx context.Context, q Queryer, id int64) (Entry, error) {
	var version int64
	document, err := scan(q.QueryRow(ctx, `SELECT payload, version FROM config WHERE id = $1`, id), ErrMissing, &version)
	return Entry{Document: document, Version: version}, err
}

// scan reads the document, and what follows it in the row. none is the error if
// there is no row.
func scan(row pgx.Row, none error, rest ...any) (Document, error) {
	var d Document
	var payload []byte
	err := row.Scan(append([]any{&payload}, rest...)...)
	if errors.Is(err, pgx.ErrNoRows) {
		return d, none
	}
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal(payload, &d); err != nil {
		return d, fmt.Errorf("the document in the store: %w", err)
	}
	return d, nil
}

// write runs a statement whose first argument is the document, and which
// returns the id of the row it changed.
func write(ctx context.Context, q Queryer, sql string, u Update, rest ...any) error {
	payload, err := json.Marshal(u.Document)
	if err != nil {
		return fmt.Errorf("encode the document: %w", err)
	}
	return change(ctx, q, sql, append([]any{payload}, rest...)...)
}

// change runs a statement that returns the id of the row it changed. Its error
// is nil only after the server is ready again, so after the commit.
func change(ctx context.Context, q Queryer, sql string, args ...any) error {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[any])
	switch {
	case err != nil:
		return err
	case len(ids) == 0:
		return ErrRejected
	case len(ids) > 1:
		return fmt.Errorf("%w: %d rows with the id %v were changed", ErrAmbiguous, len(ids), ids[0])
	}
	return nil
}
