package nemesis

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// playedWire is a network without bytes: who is let go from a breakpoint while
// its requests are to be held has sent one.
type playedWire struct {
	*theatre
	holding   string // worker
	resources []string
	held      map[string]int // resource to bytes
	silent    bool           // nobody sends anything
}

func (w *playedWire) Hold(worker string, resources []string) {
	_ = w.do(context.Background(), func() error {
		w.holding, w.resources = worker, slices.Clone(resources)
		return nil
	}, "hold %s %v", worker, resources)
}

func (w *playedWire) AwaitHeld(ctx context.Context, worker string, resources []string) map[string]int {
	w.mu.Lock()
	for _, r := range resources {
		if !w.silent && w.holding == worker && slices.Contains(w.resources, r) && !w.waiting[worker][r] {
			w.held[r] = 100
		}
	}
	w.mu.Unlock()
	return w.Held(worker)
}

func (w *playedWire) Held(string) map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.held)
}

func (w *playedWire) Release(worker string) {
	_ = w.do(context.Background(), func() error {
		w.holding, w.resources = "", nil
		clear(w.held)
		return nil
	}, "release %s", worker)
}

// playedServers are servers that can only be stopped and continued.
type playedServers struct {
	*theatre
	kinds []string
}

func (p *playedServers) Kinds() []string { return p.kinds }

func (p *playedServers) Pick(ctx context.Context, kind string, n int) (string, error) {
	name := fmt.Sprintf("%s-%d", kind, n%5+1)
	return name, p.do(ctx, func() error { return nil }, "pick %s", name)
}

func (p *playedServers) Stop(ctx context.Context, server string) error {
	return p.do(ctx, func() error {
		if len(p.stopped) > 0 {
			return fmt.Errorf("%v is stopped already", p.stopped)
		}
		p.stopped[server] = true
		return nil
	}, "stop %s", server)
}

func (p *playedServers) Continue(ctx context.Context, server string) error {
	return p.do(ctx, func() error {
		if !p.stopped[server] {
			return fmt.Errorf("%s is not stopped", server)
		}
		delete(p.stopped, server)
		return nil
	}, "continue %s", server)
}
