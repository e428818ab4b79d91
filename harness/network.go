package harness

import (
	"context"
	"strings"

	"github.com/torture-harness/torture/harness/wire"
)

// network is the way of a cell's clients to PostgreSQL, through a proxy that
// knows their connections by name. It is the nemesis' Wire.
type network struct {
	proxy *wire.Proxy
	cell  string // the names of its connections are cell/worker/resource
}

// openNetwork puts a proxy in front of the server of a connection string, and
// returns the connection string that leads through it.
func openNetwork(dsn, cell string) (*network, string, error) {
	p, through, err := wire.ListenFor(dsn)
	if err != nil {
		return nil, "", err
	}
	return &network{proxy: p, cell: cell}, through, nil
}

func (n *network) close() error { return n.proxy.Close() }

func (n *network) of(worker string) string { return n.cell + "/" + worker + "/" }

func (n *network) named(worker string, resources []string) wire.Filter {
	var names []string
	for _, r := range resources {
		names = append(names, n.of(worker)+r)
	}
	return wire.Named(names...)
}

// Hold implements nemesis.Wire.
func (n *network) Hold(worker string, resources []string) {
	n.proxy.HoldRequests(n.named(worker, resources))
}

// AwaitHeld implements nemesis.Wire.
func (n *network) AwaitHeld(ctx context.Context, worker string, resources []string) map[string]int {
	conns, _ := n.proxy.AwaitHeld(ctx, len(resources), n.named(worker, resources)) // fewer are told by their number
	return n.bytes(worker, conns)
}

// Held implements nemesis.Wire.
func (n *network) Held(worker string) map[string]int {
	return n.bytes(worker, n.proxy.Held(wire.NamePrefix(n.of(worker))))
}

func (n *network) bytes(worker string, conns []*wire.Conn) map[string]int {
	held := map[string]int{}
	for _, c := range conns {
		if b := c.Stats().HeldRequests; b > 0 {
			held[strings.TrimPrefix(c.Name(), n.of(worker))] = b
		}
	}
	return held
}

// Release implements nemesis.Wire. One worker at a time is held, so nothing that
// is to be held is left.
func (n *network) Release(string) { n.proxy.Release() }
