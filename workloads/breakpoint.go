package workloads

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// The points in a client's protocol at which it can be made to wait. Where a
// client only waits for its own word it is held in Reach; at P1, P5 and P6 its
// request is under way, so it is the connection that waits.
const (
	// AcquireMid: the requests that may take the lock are sent, their replies
	// not read. It sits in the connection, between Write and Read (package gate).
	AcquireMid = "P1"
	// AfterAcquire: the lock judged held, nothing read.
	AfterAcquire = "P2"
	// BeforeToken: the lock held, its token not drawn. Only lockers that draw
	// the token with a request of its own (lock.Tokener) pass it.
	BeforeToken = "P7"
	// AfterRead: the basis read, the new value computed.
	AfterRead = "P3"
	// AfterCheck: ownership checked again, the write not sent.
	AfterCheck = "P4"
	// InFlight: the write sent, not executed. It is held in a proxy (package
	// wire), or in the socket of a backend that is stopped.
	InFlight = "P5"
	// AfterWrite: the write executed, its reply not read. The reply is held or
	// cut in a proxy.
	AfterWrite = "P6"
	// BeforeRelease: the write answered, the lock still to be given back.
	BeforeRelease = "P8"
)

// Points lists them in the order of the protocol.
var Points = []string{AcquireMid, AfterAcquire, BeforeToken, AfterRead, AfterCheck, InFlight, AfterWrite, BeforeRelease}

// Breakpoints make clients of one process wait where they have been armed.
type Breakpoints struct {
	arrived func(point, client, resource string) // told before a client waits
	armed   atomic.Bool                          // so that unarmed points cost nothing

	mu        sync.Mutex
	points    map[string][]string      // point to resources; none means all
	waiting   map[string]chan struct{} // by resource
	abandoned bool
}

// NewBreakpoints tells arrived of each client that begins to wait. arrived must
// not block on the client's own progress.
func NewBreakpoints(arrived func(point, client, resource string)) *Breakpoints {
	return &Breakpoints{arrived: arrived, points: map[string][]string{}, waiting: map[string]chan struct{}{}}
}

// Arm makes clients of these resources wait at a point; of all resources if
// none is named.
func (b *Breakpoints) Arm(point string, resources []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.abandoned {
		return
	}
	b.points[point] = slices.Clone(resources)
	b.armed.Store(true)
}

// Disarm forgets all points. Clients that wait go on waiting.
func (b *Breakpoints) Disarm() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.points)
	b.armed.Store(false)
}

// Go lets the waiting clients of these resources go on; all, if none is named.
// Resources that are named are also taken off the points armed for resources by
// name.
func (b *Breakpoints) Go(resources []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for r, c := range b.waiting {
		if len(resources) == 0 || slices.Contains(resources, r) {
			close(c)
			delete(b.waiting, r)
		}
	}
	if len(resources) == 0 {
		return
	}
	for point, armed := range b.points {
		left := slices.DeleteFunc(slices.Clone(armed), func(r string) bool { return slices.Contains(resources, r) })
		if len(armed) > 0 && len(left) == 0 {
			delete(b.points, point)
			continue
		}
		b.points[point] = left
	}
	b.armed.Store(len(b.points) > 0)
}

// Abandon disarms everything for good and lets everybody go on.
func (b *Breakpoints) Abandon() {
	b.mu.Lock()
	b.abandoned = true // at once with the disarming, so that nobody arms in between
	clear(b.points)
	b.armed.Store(false)
	b.mu.Unlock()
	b.Go(nil)
}

// Armed reports whether a client of the resource would have to wait at a point.
func (b *Breakpoints) Armed(point, resource string) bool {
	if !b.armed.Load() {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.at(point, resource)
}

// at: the point is armed for the resource. The caller holds mu.
func (b *Breakpoints) at(point, resource string) bool {
	resources, armed := b.points[point]
	return armed && (len(resources) == 0 || slices.Contains(resources, resource))
}

// Reach waits if the point is armed for the resource. It reports whether it did.
func (b *Breakpoints) Reach(ctx context.Context, point, client, resource string) bool {
	if !b.armed.Load() {
		return false
	}
	b.mu.Lock()
	if !b.at(point, resource) {
		b.mu.Unlock()
		return false
	}
	// Registered before anybody is told, so that an immediate "go" is not missed.
	wait := make(chan struct{})
	b.waiting[resource] = wait
	b.mu.Unlock()

	b.arrived(point, client, resource)
	select {
	case <-wait:
	case <-ctx.Done():
	}
	return true
}
