// Package point lets whoever runs a protocol be held between two of its steps,
// also where the steps are inside one call of a locker or a guard.
package point

import "context"

// The points inside a call. The points between the steps of a client are
// workloads.Points.
const (
	Between = "between" // the first of two requests answered, the second not sent
	Leased  = "leased"  // a lease granted by etcd, the key not put
)

type key struct{}

// With returns a context whose Reach calls reach, which may wait.
func With(ctx context.Context, reach func(point string)) context.Context {
	return context.WithValue(ctx, key{}, reach)
}

// Reach is called at a point; it returns when the caller may go on. Without
// somebody to hold it that is at once.
func Reach(ctx context.Context, name string) {
	if reach, ok := ctx.Value(key{}).(func(string)); ok {
		reach(name)
	}
}
