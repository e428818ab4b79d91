// Package outcome decides what a client library's answer proves: one table per
// library. Unless the answer proves that nothing happened, an error is Info.
//
// The libraries' own retries must be off: a retried SET NX answers "no" to the
// one that took the lock.
package outcome

import (
	"errors"
	"net"
	"syscall"
)

// refusedDial reports whether err is a connection that was refused or could not
// be dialled at all, so that no byte of a request was ever sent.
func refusedDial(err error) bool {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return true
	}
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
