package lock

import (
	"context"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// presence follows which keys of a prefix exist, by one watch for all clients
// of a worker. It is a hint for waiters and may lag; only a txn decides.
type presence struct {
	mu      sync.Mutex
	keys    map[string]bool
	changed chan struct{} // closed and replaced at every change
}

func newPresence() *presence {
	return &presence{keys: map[string]bool{}, changed: make(chan struct{})}
}

// follow keeps the picture up to date until ctx ends. After a broken watch it
// reads the prefix afresh.
func (p *presence) follow(ctx context.Context, client *clientv3.Client, prefix string) {
	for ctx.Err() == nil {
		got, err := client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
		if err != nil {
			_ = Pause(ctx, 20*time.Millisecond)
			continue
		}
		now := map[string]bool{}
		for _, kv := range got.Kvs {
			now[string(kv.Key)] = true
		}
		p.update(func(keys map[string]bool) {
			clear(keys)
			for k := range now {
				keys[k] = true
			}
		})
		watching, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
		for answer := range client.Watch(watching, prefix, clientv3.WithPrefix(), clientv3.WithRev(got.Header.Revision+1)) {
			if answer.Err() != nil {
				break
			}
			p.update(func(keys map[string]bool) {
				for _, e := range answer.Events {
					if e.Type == clientv3.EventTypeDelete {
						delete(keys, string(e.Kv.Key))
					} else {
						keys[string(e.Kv.Key)] = true
					}
				}
			})
		}
		cancel()
	}
}

func (p *presence) update(do func(map[string]bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do(p.keys)
	close(p.changed)
	p.changed = make(chan struct{})
}

// awaitAbsent returns once key is gone and stays so for settle.
func (p *presence) awaitAbsent(ctx context.Context, key string, settle func() time.Duration) error {
	return p.awaitNot(ctx, func(keys map[string]bool) bool { return keys[key] }, settle)
}

// awaitNone returns once no key that begins with prefix is left, and it stays
// so for settle.
func (p *presence) awaitNone(ctx context.Context, prefix string, settle func() time.Duration) error {
	return p.awaitNot(ctx, func(keys map[string]bool) bool {
		for key := range keys {
			if strings.HasPrefix(key, prefix) {
				return true
			}
		}
		return false
	}, settle)
}

func (p *presence) awaitNot(ctx context.Context, there func(keys map[string]bool) bool, settle func() time.Duration) error {
	for {
		if err := p.await(ctx, there, false, nil); err != nil {
			return err
		}
		// Spread those who saw the same deletion; whoever sees the key again waits on.
		timer := time.NewTimer(settle())
		err := p.await(ctx, there, true, timer.C)
		timer.Stop()
		if err == errSettled {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// await returns once there says that what it looks for exists (or does not),
// or errSettled when until fires.
func (p *presence) await(ctx context.Context, there func(keys map[string]bool) bool, exists bool, until <-chan time.Time) error {
	for {
		p.mu.Lock()
		now, changed := there(p.keys), p.changed
		p.mu.Unlock()
		if now == exists {
			return nil
		}
		select {
		case <-changed:
		case <-until:
			return errSettled
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
