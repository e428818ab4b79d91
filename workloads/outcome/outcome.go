// Package outcome decides what a client library's answer proves: one table per
// library. Unless the answer proves that nothing happened, an error is Info.
//
// The libraries' own retries must be off: a retried SET NX answers "no" to the
// one that took the lock.
package outcome

import (
	"errors"
	"io"
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

// cut reports whether err is the end of a connection in use.
func cut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed)
}
