package store

import (
	"context"
	"fmt"

	"github.com/torture-harness/torture/harness/history"
)

// Eye reads one row at a time, when it is told to, and is never stopped.
type Eye struct {
	store  *Store
	name   string
	record func(history.Event)
	n      int
}

// OpenEye opens a connection to the rows of a cell. name is unique among those
// who look at the cell; record keeps what it sees.
func OpenEye(ctx context.Context, dsn, schema, name string, resources []string, record func(history.Event)) (*Eye, error) {
	s, err := openSecond(ctx, dsn, schema, resources)
	if err != nil {
		return nil, err
	}
	return &Eye{store: s, name: name, record: record}, nil
}

// Close ends the connection.
func (e *Eye) Close() { e.store.Close() }

// Look reads a row, resources[row], and returns whose write it saw.
func (e *Eye) Look(ctx context.Context, row int) (writeID string, err error) {
	e.n++
	resource := e.store.resources[row]
	as := history.Observer + "/" + resource
	op := history.Event{Type: history.TypeInvoke, Time: history.Now(), Op: fmt.Sprintf("%s-%d", e.name, e.n), Process: as, Client: as, Resource: resource, Kind: history.Read}
	e.record(op)
	err = e.store.QueryRow(ctx, `SELECT payload->>'write_id' FROM config WHERE id = $1`, row).Scan(&writeID)
	done := history.Event{Type: history.TypeComplete, Time: history.Now(), Op: op.Op, Outcome: history.OK, WriteID: writeID}
	if err != nil {
		done.Outcome, done.Error = history.Fail, err.Error()
	}
	e.record(done)
	if err != nil {
		return "", fmt.Errorf("look at the row of %s: %w", resource, err)
	}
	return writeID, nil
}
