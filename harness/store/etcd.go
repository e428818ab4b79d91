package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/guard"
)

// etcdRows are the documents of a cell in etcd. Its revisions are the order in
// which it accepted them, so its own history is the journal.
type etcdRows struct {
	client    *clientv3.Client
	prefix    string
	resources []string
	since     int64 // revision behind the fresh documents
}

// newEtcdRows makes the documents.
func newEtcdRows(ctx context.Context, rows Rows) (*etcdRows, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: rows.Etcd, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		return nil, fmt.Errorf("connect to etcd: %w", err)
	}
	first, err := json.Marshal(guard.Document{WriteID: history.InitialWrite, Fields: map[string]int{}})
	if err != nil {
		return nil, err
	}
	r := &etcdRows{client: client, prefix: guard.EtcdRows(rows.Schema), resources: rows.Resources}
	for i := range rows.Resources {
		put, err := client.Put(ctx, guard.EtcdRow(rows.Schema, int64(i)), string(first))
		if err != nil {
			r.close()
			return nil, fmt.Errorf("make the documents in etcd: %w", err)
		}
		r.since = put.Header.Revision
	}
	return r, nil
}

// Current is the write id of each resource's document, in one look.
func (s *Store) Current(ctx context.Context) (map[string]string, error) { return s.seen(ctx) }

// row is one document: its resource and its content.
func (r *etcdRows) row(kv *mvccpb.KeyValue) (resource string, d guard.Document, err error) {
	i, err := strconv.Atoi(strings.TrimPrefix(string(kv.Key), r.prefix))
	if err != nil || i < 0 || i >= len(r.resources) {
		return "", d, fmt.Errorf("document %s is nobody's", kv.Key)
	}
	if err := json.Unmarshal(kv.Value, &d); err != nil {
		return "", d, fmt.Errorf("document %s: %w", kv.Key, err)
	}
	return r.resources[i], d, nil
}

func (r *etcdRows) seen(ctx context.Context) (map[string]string, error) {
	got, err := r.client.Get(ctx, r.prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, err
	}
	seen := map[string]string{}
	for _, kv := range got.Kvs {
		resource, d, err := r.row(kv)
		if err != nil {
			return nil, err
		}
		seen[resource] = d.WriteID
	}
	return seen, nil
}

// journal reads etcd's history up to the newest document.
func (r *etcdRows) journal(ctx context.Context) ([]history.JournalEntry, error) {
	got, err := r.client.Get(ctx, r.prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, err
	}
	newest := r.since
	for _, kv := range got.Kvs {
		newest = max(newest, kv.ModRevision)
	}
	entries := []history.JournalEntry{}
	if newest == r.since {
		return entries, nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for seen := range r.client.Watch(ctx, r.prefix, clientv3.WithPrefix(), clientv3.WithRev(r.since+1)) {
		if err := seen.Err(); err != nil {
			return nil, err
		}
		for _, e := range seen.Events {
			resource, d, err := r.row(e.Kv)
			if err != nil {
				return nil, err
			}
			entries = append(entries, history.JournalEntry{Seq: e.Kv.ModRevision, Resource: resource, WriteID: d.WriteID, Grant: d.Grant, Basis: d.Basis})
			if e.Kv.ModRevision == newest {
				return entries, nil
			}
		}
	}
	return nil, fmt.Errorf("etcd's history ended before revision %d: %w", newest, context.Cause(ctx))
}

// drop removes the documents.
func (r *etcdRows) drop(ctx context.Context) error {
	_, err := r.client.Delete(ctx, r.prefix, clientv3.WithPrefix())
	return err
}

func (r *etcdRows) close() { _ = r.client.Close() }
