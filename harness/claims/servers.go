package claims

import (
	"github.com/torture-harness/torture/harness"
	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/guardian"
	"github.com/torture-harness/torture/harness/leases"
)

// Servers are the servers of a case, shared with others or its own, and the
// stage's own connections to them.
type Servers struct {
	*leases.Servers
	Cluster   *cluster.Cluster
	Disturbed bool // they are the case's own, and it may stop them

	guardian *guardian.Guardian // of servers of its own
}

func newServers(c *cluster.Cluster, own *guardian.Guardian) *Servers {
	return &Servers{Servers: &leases.Servers{Places: harness.PlacesOf(c)}, Cluster: c, Disturbed: own != nil, guardian: own}
}
