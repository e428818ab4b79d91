// Package guard is how the store accepts a write, one file per guard. The
// statements are what a user would write, sent unchanged, READ COMMITTED and in
// autocommit.
package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Table is what every guard works on. A fresh row has the fence 0.
const Table = `CREATE TABLE config (id bigint PRIMARY KEY, payload jsonb NOT NULL, last_fence bigint NOT NULL DEFAULT 0, version bigint NOT NULL DEFAULT 0)`

// ErrRejected is returned when the store answered that the statement changed no row.
var ErrRejected = errors.New("the store refused it: no row")

// ErrMissing is returned by a read of a row that does not exist.
var ErrMissing = errors.New("the row is missing")

// Document is the shared config: the whole of it is read, and the whole of it
// is written back.
type Document struct {
	WriteID string         `json:"write_id"`
	Grant   string         `json:"grant"`
	Basis   string         `json:"basis"`
	Fields  map[string]int `json:"fields"` // one per client: how often it has updated
}

// Entry is what a client read, and what it needs to write back.
type Entry struct {
	Document Document
	Version  int64 // 0 after a claim, which has no use for it
}

// Update is a write of a whole document.
type Update struct {
	ID       int64 // of the row
	Document Document
	Token    int64 // of the writer's grant, 0 if it has none
	Version  int64 // of the row when it was read
}

// Queryer is the part of a PostgreSQL connection that a guard needs.
type Queryer interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Guard reads and writes rows of Table.
type Guard interface {
	// Enter reads the row for an update under a grant with this token.
	Enter(ctx context.Context, q Queryer, id, token int64) (Entry, error)
	// Write writes it back; ErrRejected if the store refused.
	Write(ctx context.Context, q Queryer, u Update) error
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

// write runs a statement that returns the id of the row it changed. Scan
// returns nil only after the server is ready again, so after the commit.
func write(ctx context.Context, q Queryer, sql string, u Update, rest ...any) error {
	payload, err := json.Marshal(u.Document)
	if err != nil {
		return fmt.Errorf("encode the document: %w", err)
	}
	var id int64
	err = q.QueryRow(ctx, sql, append([]any{payload}, rest...)...).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrRejected
	}
	return err
}
