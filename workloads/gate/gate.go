// Package gate is breakpoint P1: the requests that may take a lock are sent,
// and their replies are not read. No step of a client lies there, so it sits in
// the connections of the client libraries, between a write and the next read.
// An attempt that nobody wants to hold costs one look at its context; the
// others that share its connections, or its pool, are never held.
package gate

import (
	"context"
	"sync"
	"sync/atomic"
)

type key struct{}

// With returns a context whose attempt to take a lock calls reach, once, when
// requests of its requests (5 for Redlock on five masters) have been sent, or
// have failed before; no reply to them is read before reach has returned. The
// deadlines of the requests run on meanwhile.
func With(ctx context.Context, requests int, reach func()) context.Context {
	return context.WithValue(ctx, key{}, &attempt{left: max(requests, 1), reach: reach, all: make(chan struct{})})
}

// attempt is one attempt to take a lock.
type attempt struct {
	reach func()
	once  sync.Once
	over  atomic.Bool // what it sends from now on belongs to something else

	mu   sync.Mutex
	left int           // requests of which it is not known yet whether they are sent
	all  chan struct{} // closed when left is 0
}

// from is the attempt of a context, nil if nobody wants to hold it.
func from(ctx context.Context) *attempt {
	a, _ := ctx.Value(key{}).(*attempt)
	if a == nil || a.over.Load() {
		return nil
	}
	return a
}

// without is ctx for what is done on the way to a request, setting up its
// connection say.
func without(ctx context.Context) context.Context {
	return context.WithValue(ctx, key{}, (*attempt)(nil))
}

// settled: one more request has been sent, or certainly will not be.
func (a *attempt) settled() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left--; a.left == 0 {
		close(a.all)
	}
}

// pass is called before a reply is read. ctx is that of its request: should a
// request be missing that was counted on, nobody waits longer for it than for a
// reply. The error says that the gate has not been opened; a reply that has come
// in meanwhile must not be read then.
func (a *attempt) pass(ctx context.Context) error {
	select {
	case <-a.all:
		a.once.Do(func() { // all others wait for it too
			a.over.Store(true)
			a.reach()
		})
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
