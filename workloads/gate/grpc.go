package gate

import (
	"context"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
)

// RPCs opens the gate in a gRPC client: the reply to a call of one of these
// methods ("/etcdserverpb.KV/Txn") is not looked at. Many calls share one
// connection, and to stop reading from it would stop all of them, so here the
// one call waits after its reply has come in and before its client sees it: its
// request has certainly been executed, which P1 leaves open.
func RPCs(methods ...string) grpc.DialOption {
	return grpc.WithStatsHandler(rpcs{methods})
}

type rpcs struct{ methods []string }

type called struct{}

// TagRPC notes whether a call is one of those that are held.
func (r rpcs) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	if a := from(ctx); a != nil && slices.Contains(r.methods, info.FullMethodName) {
		return context.WithValue(ctx, called{}, a)
	}
	return ctx
}

// HandleRPC runs in the goroutine of the call.
func (r rpcs) HandleRPC(ctx context.Context, s stats.RPCStats) {
	a, ok := ctx.Value(called{}).(*attempt)
	if !ok {
		return
	}
	if _, ok := s.(*stats.InPayload); ok && !a.over.Load() {
		a.settled()
		_ = a.pass(ctx) // past its end a call fails by itself
	}
}

// TagConn is there for stats.Handler.
func (r rpcs) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn is there for stats.Handler.
func (r rpcs) HandleConn(context.Context, stats.ConnStats) {}
