package outcome

import (
	"errors"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/torture-harness/torture/harness/history"
)

// Etcd is the outcome of a request that ended with err, with MaxUnaryRetries 1.
//
//	nil                                              ok
//	dial refused, where a call fails fast            fail: nothing was sent
//	NotFound, InvalidArgument, FailedPrecondition …  fail: the server refused it
//	Unavailable, request timed out, leader changed   info: a proposal may still commit
//	end of a context, network error                  info
//
// By default the client waits for a connection. A dial that is refused then
// shows as the end of the context, which tells less.
func Etcd(err error) history.Outcome {
	if err == nil {
		return history.OK
	}
	if refusedDial(err) {
		return history.Fail
	}
	code, text := codes.Unknown, err.Error()
	var server rpctypes.EtcdError
	if errors.As(err, &server) {
		code = server.Code()
	} else if s, ok := status.FromError(err); ok {
		code = s.Code()
	}
	switch code {
	case codes.NotFound, codes.AlreadyExists, codes.InvalidArgument, codes.FailedPrecondition,
		codes.OutOfRange, codes.PermissionDenied, codes.Unauthenticated, codes.Unimplemented, codes.ResourceExhausted:
		return history.Fail
	case codes.Unavailable:
		if neverSent(text) {
			return history.Fail
		}
	}
	return history.Info
}

// neverSent recognizes gRPC's and the balancer's words for "there was no
// connection to send it on". Neither has a code of its own.
func neverSent(text string) bool {
	for _, words := range []string{"Error while dialing", "there is no address available", "there is no connection available"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}
