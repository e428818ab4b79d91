package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/outcome"
)

// EtcdTxn has etcd itself for its store, as etcd's documentation advises for
// its locks (https://etcd.io/docs/v3.6/learning/why/#notes-on-the-usage-of-lock-and-lease):
// the transaction that writes demands that the key of the lock is still the one
// of the grant. It goes with the lease, so an old holder is refused even when
// nobody else has asked for the lock.
type EtcdTxn struct {
	client *clientv3.Client
	always bool // demand nothing
}

// NewEtcdTxn connects lazily. Each request is sent once. unconditional drops the
// demand, which is broken on purpose.
func NewEtcdTxn(endpoints []string, unconditional bool) (EtcdTxn, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: 10 * time.Second, MaxUnaryRetries: 1, Logger: zap.NewNop()})
	if err != nil {
		return EtcdTxn{}, fmt.Errorf("connect to etcd: %w", err)
	}
	return EtcdTxn{client: client, always: unconditional}, nil
}

// EtcdRow is the key of a row's document; those of a cell begin with EtcdRows.
func EtcdRow(schema string, id int64) string { return EtcdRows(schema) + strconv.FormatInt(id, 10) }

// EtcdRows is what the keys of the rows of a cell begin with.
func EtcdRows(schema string) string { return "config/" + schema + "/" }

// Enter reads the document.
func (e EtcdTxn) Enter(ctx context.Context, q Queryer, id int64, _ Holder) (Entry, error) {
	row, err := e.row(ctx, q, id)
	if err != nil {
		return Entry{}, err
	}
	got, err := e.client.Get(ctx, row)
	if err != nil {
		return Entry{}, etcdError(err)
	}
	if len(got.Kvs) == 0 {
		return Entry{}, ErrMissing
	}
	var d Document
	if err := json.Unmarshal(got.Kvs[0].Value, &d); err != nil {
		return Entry{}, fmt.Errorf("the document in etcd: %w", err)
	}
	return Entry{Document: d, Version: got.Kvs[0].Version}, nil
}

// Write replaces the document if the key of the lock is still that of the grant.
func (e EtcdTxn) Write(ctx context.Context, q Queryer, u Update) error {
	row, err := e.row(ctx, q, u.ID)
	if err != nil {
		return err
	}
	document, err := json.Marshal(u.Document)
	if err != nil {
		return fmt.Errorf("encode the document: %w", err)
	}
	held := []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(u.Key), "=", u.Token)}
	if e.always {
		held = nil
	}
	answer, err := e.client.Txn(ctx).If(held...).Then(clientv3.OpPut(row, string(document))).Commit()
	switch {
	case err != nil:
		return etcdError(err)
	case !answer.Succeeded:
		return ErrRejected
	}
	return nil
}

// row asks for the schema of the client, so that cells on one etcd have rows of
// their own.
func (e EtcdTxn) row(ctx context.Context, q Queryer, id int64) (string, error) {
	var schema string
	err := q.QueryRow(ctx, `SELECT current_schema()`).Scan(&schema)
	if err != nil {
		err = fmt.Errorf("%w: %v", ErrRolledBack, err) // nothing has been sent to etcd
	}
	return EtcdRow(schema, id), err
}

// etcdError tells a certain failure from an unknown outcome.
func etcdError(err error) error {
	if outcome.Etcd(err) == history.Fail {
		return fmt.Errorf("%w: %v", ErrRolledBack, err)
	}
	return err
}
