// Package lock takes locks, one file per locker. A lock is only a lease: what
// a locker returns says what the server granted, not that it is still so.
package lock

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// ErrHeld is returned by Acquire when the server said, for certain, that the
// lock is somebody else's and nothing of ours is left of the attempt.
var ErrHeld = errors.New("the lock is held by another")

// ErrLost is returned by Release when the server said, for certain, that the
// lock was not ours any more.
var ErrLost = errors.New("the lock is not ours any more")

// Unknown wraps an error after which the fate of the request is open.
type Unknown struct{ Err error }

func (u Unknown) Error() string { return "outcome unknown: " + u.Err.Error() }

// Unwrap returns the error of the library.
func (u Unknown) Unwrap() error { return u.Err }

// Lease is one successful acquisition as the server granted it.
type Lease struct {
	Key   string
	Value string        // identifies this one holding
	Token int64         // the fencing token, 0 if the locker has none
	ID    int64         // the server's name for the lease, where it has one
	Start int64         // ns, CLOCK_MONOTONIC: just before the request that started it was sent
	TTL   time.Duration // as the server granted it
}

// Locker takes and gives back one kind of lock.
type Locker interface {
	// Wait returns when an attempt is worth making; it decides nothing. again
	// says that an attempt has failed already.
	Wait(ctx context.Context, key string, again bool) error
	// Acquire makes one attempt. It calls sent immediately before the request
	// that may take the lock, with the moment in which its lease began. The error
	// is ErrHeld, an Unknown, or one after which nothing was taken for certain.
	Acquire(ctx context.Context, key string, sent func(leaseCall int64)) (Lease, error)
	// Release gives it back: nil, ErrLost, an Unknown, or a certain failure.
	Release(ctx context.Context, lease Lease) error
	// Close ends the connections.
	Close() error
}

// Checker is a Locker that can ask the server whether a lock is still ours.
type Checker interface {
	// Check returns nil, ErrLost, an Unknown, or a certain failure. Its answer is
	// about the past as soon as it is read.
	Check(ctx context.Context, lease Lease) error
}

// Renewer is a Locker that can prolong a lease which is still ours.
type Renewer interface {
	// Renew returns the lease with its new Start and TTL; the error is ErrLost, an
	// Unknown, or a certain failure, after which the old lease stands.
	Renew(ctx context.Context, lease Lease) (Lease, error)
}

// Tokener is a Locker whose fencing token is drawn by a request of its own,
// after the lock was taken. Between the two lies breakpoint P7.
type Tokener interface {
	// Token draws it; the error is an Unknown, or a certain failure.
	Token(ctx context.Context, lease Lease) (int64, error)
}

// NewValue is a value for FixedValue.
func NewValue() string { return newValue() }

// newValue is a fresh random value. It is drawn anew for every attempt, so it
// names this one holding and not its holder.
func newValue() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(fmt.Sprintf("no randomness: %v", err)) // the kernel's generator does not fail
	}
	return hex.EncodeToString(b[:])
}
