package harness

import (
	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/lock"
)

// PlacesOf tells the workers where the servers are.
func PlacesOf(c *cluster.Cluster) workloads.Places {
	p := workloads.Places{Etcd: c.EtcdEndpoints(), Postgres: c.PostgresDSN()}
	for _, s := range c.Redis {
		p.Redis = append(p.Redis, lock.Server{Addr: s.Addr, Password: s.Password})
	}
	return p
}
