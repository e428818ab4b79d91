package leases

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/cluster/clustertest"
	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/lock"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Main(m, nil)) }

// A lease is seen while it is there, and gone once it was released or ended; one
// of somebody else is left alone.
func TestLeases(t *testing.T) {
	c := clustertest.Start(t, cluster.Spec{Redis: 5, Etcd: 3})
	places := workloads.Places{Etcd: c.EtcdEndpoints()}
	for _, s := range c.Redis {
		places.Redis = append(places.Redis, lock.Server{Addr: s.Addr, Password: s.Password})
	}
	servers := &Servers{Places: places}
	t.Cleanup(servers.Close)
	for _, name := range []string{"setnx", "redlock", "etcd-plain"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			s, err := workloads.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			const ttl = 60 * time.Second // no lease ends by itself
			locker, err := s.Locker.New(places, workloads.LockerOptions{Prefix: "leases/", TTL: ttl, Patience: ttl, Clients: 2, PerNode: ttl, Jitter: lock.NewJitter(1, 1)})
			if err != nil {
				t.Fatal(err)
			}
			defer locker.Close()
			take := func() lock.Lease {
				t.Helper()
				lease, err := locker.Acquire(ctx, "leases/"+name, func(int64) {})
				if err != nil {
					t.Fatal(err)
				}
				if servers.Gone(ctx, s.Locker, lease) {
					t.Fatal("a lease that was granted is called gone")
				}
				return lease
			}
			end := func(lease lock.Lease) {
				t.Helper()
				if err := servers.End(ctx, s.Locker, lease); err != nil {
					t.Fatal(err)
				}
			}
			first := take()
			end(first)
			if !servers.Gone(ctx, s.Locker, first) {
				t.Error("a lease that was ended is still there")
			}
			second := take()
			end(first) // it is nobody's any more
			if servers.Gone(ctx, s.Locker, second) || !servers.Gone(ctx, s.Locker, first) {
				t.Error("the end of an old lease took the new one with it, or brought the old one back")
			}
			if err := locker.Release(ctx, second); err != nil || !servers.Gone(ctx, s.Locker, second) {
				t.Errorf("released: %v", err)
			}
		})
	}
	if err := servers.End(context.Background(), workloads.LockerKind{Name: "none"}, lock.Lease{}); err == nil {
		t.Error("a lock without a lease was ended")
	}
}
