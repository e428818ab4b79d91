package lock

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// unchecked is the library's mutex as it was up to etcd 3.4.3
// (https://github.com/etcd-io/etcd/issues/11456): Lock enters the queue, waits
// until nobody is before it, and then does not ask whether its own entry is
// still there. A waiter whose lease has died is granted the lock.
type unchecked struct {
	client  *clientv3.Client
	lease   clientv3.LeaseID
	prefix  string
	entry   string
	created int64
}

func (m *unchecked) Lock(ctx context.Context) error {
	m.entry = fmt.Sprintf("%s%x", m.prefix, m.lease)
	entered, err := m.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(m.entry), "=", 0)).
		Then(clientv3.OpPut(m.entry, "", clientv3.WithLease(m.lease))).
		Commit()
	if err != nil {
		return err
	}
	if !entered.Succeeded {
		return errors.New("the session is in the queue already")
	}
	m.created = entered.Header.Revision
	before := append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(m.created-1))
	for {
		got, err := m.client.Get(ctx, m.prefix, before...)
		if err != nil {
			return err
		}
		if len(got.Kvs) == 0 {
			return nil // the library asks for its own entry here
		}
		if err := m.awaitDeletion(ctx, string(got.Kvs[0].Key), got.Header.Revision); err != nil {
			return err
		}
	}
}

func (m *unchecked) awaitDeletion(ctx context.Context, key string, since int64) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	for seen := range m.client.Watch(watching, key, clientv3.WithRev(since)) {
		for _, e := range seen.Events {
			if e.Type == mvccpb.DELETE {
				return nil
			}
		}
		if seen.Err() != nil {
			return seen.Err()
		}
	}
	return ctx.Err()
}

// TryLock is not what this copy is for.
func (m *unchecked) TryLock(context.Context) error { return errors.ErrUnsupported }

func (m *unchecked) Unlock(ctx context.Context) error {
	_, err := m.client.Delete(ctx, m.entry)
	return err
}

func (m *unchecked) Key() string { return m.entry }

func (m *unchecked) IsOwner() clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(m.entry), "=", m.created)
}
