package lock

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/cluster/clustertest"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/internal/await"
)

// members is a real etcd cluster and a client that sees what it has.
type members struct {
	*cluster.Cluster
	admin *clientv3.Client
	first *clientv3.Client // of the first member only
}

func TestEtcd(t *testing.T) {
	t.Parallel() // each has servers of its own
	c := clustertest.Start(t, cluster.Spec{Etcd: 3})
	m := members{c, connect(t, c.EtcdEndpoints()...), connect(t, c.EtcdEndpoints()[0])}
	bench{
		open:   func(t *testing.T, ttl time.Duration) Locker { return m.open(t, ttl) },
		values: m.values, nodes: 1,
	}.contract(t)

	t.Run("the token is the revision of the txn", m.token)
	t.Run("the lease is as long as the server says", m.serverTTL)
	t.Run("the lease begins before it is asked for", m.startsBeforeSending)
	t.Run("the key is asked for after the lease", m.sentBeforeTxn)
	t.Run("the loser leaves no lease behind", m.loserLeavesNothing)
	t.Run("a lease that ends before the txn", m.leaseEndsBeforeTxn)
	t.Run("a wait ends with the key", m.waitEndsWithKey)
	t.Run("a wait can be given up", m.waitGivenUp)

	// These disturb the members.
	t.Run("a txn without an answer", m.unansweredTxn)
	t.Run("a release without an answer", m.unansweredRelease)
	t.Run("the watch survives its member", m.watchSurvivesRestart)
	t.Run("the watch survives a compaction", m.watchSurvivesCompaction)
	t.Run("the watch survives the loss of the leader", m.watchSurvivesLeaderLoss)
}

func connect(t *testing.T, endpoints ...string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

// open makes a locker of some members, all if none is named.
func (m members) open(t *testing.T, ttl time.Duration, of ...*cluster.Server) *Etcd {
	t.Helper()
	var endpoints []string
	for _, s := range of {
		endpoints = append(endpoints, "http://"+s.Addr)
	}
	if len(of) == 0 {
		endpoints = m.EtcdEndpoints()
	}
	l, err := NewEtcd(endpoints, t.Name(), ttl, NewJitter(1, 1))
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	return l
}

func (m members) values(t *testing.T, key string) []string {
	t.Helper()
	got, err := m.admin.Get(soon(t), key)
	must(t, err)
	var values []string
	for _, kv := range got.Kvs {
		values = append(values, string(kv.Value))
	}
	return values
}

// leases lists those that are there, but for some. A member lists those that it
// knows of, so it is made to catch up by a read.
func (m members) leases(t *testing.T, but ...clientv3.LeaseID) []clientv3.LeaseID {
	t.Helper()
	_, err := m.first.Get(soon(t), "settled")
	must(t, err)
	got, err := m.first.Leases(soon(t))
	must(t, err)
	var ids []clientv3.LeaseID
	for _, l := range got.Leases {
		if !slices.Contains(but, l.ID) {
			ids = append(ids, l.ID)
		}
	}
	return ids
}

// settle returns once every member takes writes again.
func (m members) settle(t *testing.T) {
	t.Helper()
	for _, s := range m.Etcd {
		c := connect(t, "http://"+s.Addr)
		await.That(t, "a write through "+s.Name, func() bool {
			_, err := c.Put(soon(t), "settled", s.Name)
			return err == nil
		})
	}
}

// follower is a member that is not the leader.
func (m members) follower(t *testing.T) *cluster.Server {
	t.Helper()
	var found *cluster.Server
	await.That(t, "a follower", func() bool {
		for _, s := range m.Etcd {
			status, err := m.admin.Status(soon(t), "http://"+s.Addr)
			if err == nil && status.Leader != 0 && status.Leader != status.Header.MemberId {
				found = s
				return true
			}
		}
		return false
	})
	return found
}

func (m members) others(than *cluster.Server) []*cluster.Server {
	return slices.DeleteFunc(slices.Clone(m.Etcd), func(s *cluster.Server) bool { return s == than })
}

func (m members) token(t *testing.T) {
	l, key := m.open(t, 10*time.Second), t.Name()
	last := int64(0)
	for range 5 {
		lease := mustTake(t, l, key)
		got, err := m.admin.Get(soon(t), key)
		must(t, err)
		if kv := got.Kvs[0]; kv.CreateRevision != lease.Token || kv.ModRevision != lease.Token || kv.Lease != lease.ID {
			t.Errorf("the key is %v, the lease %+v", kv, lease)
		}
		if lease.Token <= last {
			t.Errorf("token %d follows %d", lease.Token, last)
		}
		last = lease.Token
		_, err = m.admin.Put(soon(t), key+"/other", "so that numbers are left out")
		must(t, err)
		must(t, l.Release(soon(t), lease))
	}
}

func (m members) serverTTL(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{
		time.Second:             time.Second,
		1200 * time.Millisecond: 2 * time.Second, // whole seconds, never less than asked
	} {
		l := m.open(t, asked)
		lease := mustTake(t, l, t.Name())
		got, err := m.admin.TimeToLive(soon(t), clientv3.LeaseID(lease.ID))
		must(t, err)
		if granted := time.Duration(got.GrantedTTL) * time.Second; lease.TTL != granted || granted != want {
			t.Errorf("asked for %s: the server says %s, the lease %s, want %s", asked, granted, lease.TTL, want)
		}
		must(t, l.Release(soon(t), lease))
	}
}

// startsBeforeSending asks one follower, so that the cluster goes on while it
// is stopped.
func (m members) startsBeforeSending(t *testing.T) {
	s := m.follower(t)
	startsBeforeSending(t, m.open(t, 10*time.Second, s), s)
}

func (m members) sentBeforeTxn(t *testing.T) {
	l, key := m.open(t, 10*time.Second), t.Name()
	before := m.leases(t)
	calls := 0
	lease, err := l.Acquire(soon(t), key, func(start int64) {
		calls++
		if start >= history.Now() {
			t.Error("the lease is said to begin later than now")
		}
		if got := m.leases(t, before...); len(got) != 1 {
			t.Errorf("%d leases of ours are there", len(got))
		}
		if got := m.values(t, key); len(got) > 0 {
			t.Error("the key is there already")
		}
	})
	must(t, err)
	if calls != 1 {
		t.Errorf("sent was called %d times", calls)
	}
	must(t, l.Release(soon(t), lease))
}

func (m members) loserLeavesNothing(t *testing.T) {
	winner, loser, key := m.open(t, 60*time.Second), m.open(t, 60*time.Second), t.Name()
	lease := mustTake(t, winner, key)
	before := m.leases(t)
	_, err := take(t, loser, key)
	wantErr(t, "a second attempt", err, ErrHeld)
	if left := m.leases(t, before...); len(left) > 0 {
		t.Errorf("the leases %x are left", left)
	}
	must(t, winner.Release(soon(t), lease))
	if slices.Contains(m.leases(t), clientv3.LeaseID(lease.ID)) {
		t.Error("the released lease is still there")
	}
}

// leaseEndsBeforeTxn is what a client finds that was stopped between the two.
func (m members) leaseEndsBeforeTxn(t *testing.T) {
	l, key := m.open(t, 60*time.Second), t.Name()
	before := m.leases(t)
	_, err := l.Acquire(soon(t), key, func(int64) {
		for _, id := range m.leases(t, before...) {
			_, err := m.admin.Revoke(soon(t), id)
			must(t, err)
		}
	})
	if err == nil || errors.Is(err, ErrHeld) || errors.As(err, new(Unknown)) {
		t.Errorf("a txn with a lease that is gone: %v, want a certain failure", err)
	}
	if got := m.values(t, key); len(got) > 0 {
		t.Errorf("the key holds %q", got)
	}
}

// awaitSeen returns once the locker's picture of a key is as wanted.
func awaitSeen(t *testing.T, l *Etcd, key string, exists bool) {
	t.Helper()
	await.That(t, "the watch to see "+key, func() bool {
		l.keys.mu.Lock()
		defer l.keys.mu.Unlock()
		return l.keys.keys[key] == exists
	})
}

// waiting begins to wait for a key that is seen to be there.
func waiting(t *testing.T, l *Etcd, key string) <-chan int64 {
	t.Helper()
	awaitSeen(t, l, key, true)
	woken := make(chan int64, 1)
	ctx := soon(t)
	go func() {
		if err := l.Wait(ctx, key, false); err != nil {
			t.Error(err)
		}
		woken <- history.Now()
	}()
	return woken
}

func stillWaits(t *testing.T, woken <-chan int64) {
	t.Helper()
	select {
	case <-woken:
		t.Fatal("the wait ended while the key was there")
	default:
	}
}

func (m members) waitEndsWithKey(t *testing.T) {
	holder, waiter, key := m.open(t, 20*time.Second), m.open(t, 20*time.Second), t.Name()
	must(t, waiter.Wait(soon(t), key, false)) // nobody holds it
	lease := mustTake(t, holder, key)
	woken := waiting(t, waiter, key)
	for range 5 { // it is told of other keys, and not confused by them
		other := mustTake(t, holder, key+"/other")
		awaitSeen(t, waiter, key+"/other", true)
		must(t, holder.Release(soon(t), other))
		awaitSeen(t, waiter, key+"/other", false)
	}
	stillWaits(t, woken)
	released := history.Now()
	must(t, holder.Release(soon(t), lease))
	if at := <-woken; at < released {
		t.Error("the wait ended before the release")
	}
}

func (m members) waitGivenUp(t *testing.T) {
	l, key := m.open(t, 20*time.Second), t.Name()
	lease := mustTake(t, l, key)
	awaitSeen(t, l, key, true)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	wantErr(t, "a wait", l.Wait(ctx, key, false), context.Canceled)
	must(t, l.Release(soon(t), lease))
}

func (m members) unansweredTxn(t *testing.T) {
	m.settle(t)
	s := m.follower(t)
	l, key := m.open(t, time.Second, s), t.Name()
	before := m.leases(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	attempted, asking := make(chan error, 1), make(chan struct{})
	go func() {
		_, err := l.Acquire(ctx, key, func(int64) { asking <- struct{}{}; <-asking })
		attempted <- err
	}()
	<-asking // it has a lease, and has not sent the txn
	quiet(t, s)
	stopped(t, m.Etcd...)
	close(asking)
	await.Sent(t, s.Addr, 1)
	cancel()
	wantUnknown(t, "the attempt", <-attempted)
	each(t, m.Etcd, (*cluster.Server).Continue)
	m.settle(t)
	await.That(t, "the end of the lease and its key", func() bool {
		return len(m.values(t, key)) == 0 && len(m.leases(t, before...)) == 0
	})
	must(t, l.Release(soon(t), mustTake(t, l, key)))
}

func (m members) unansweredRelease(t *testing.T) {
	l := m.open(t, 20*time.Second)
	lease := mustTake(t, l, t.Name())
	t.Cleanup(func() { m.settle(t) })
	stopped(t, m.Etcd...)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	wantUnknown(t, "the release", l.Release(ctx, lease))
}

func (m members) watchSurvivesRestart(t *testing.T) {
	m.watchSurvives(t, func(s *cluster.Server) { killed(t, s) }, func(s *cluster.Server) { must(t, s.Restart(soon(t))) })
}

func (m members) watchSurvivesCompaction(t *testing.T) {
	m.watchSurvives(t, func(s *cluster.Server) { killed(t, s) }, func(s *cluster.Server) {
		put, err := m.admin.Put(soon(t), "compacted", "") // so that what was missed is really gone
		must(t, err)
		_, err = m.admin.Compact(soon(t), put.Header.Revision)
		must(t, err)
		must(t, s.Restart(soon(t)))
	})
}

// watchSurvives breaks the only connection of a waiter while one key appears
// and another vanishes.
func (m members) watchSurvives(t *testing.T, breakIt, mend func(*cluster.Server)) {
	m.settle(t)
	s := m.follower(t)
	others := m.others(s)
	holder, waiter := m.open(t, 20*time.Second, others...), m.open(t, 20*time.Second, s)
	appears, vanishes := t.Name()+"/appears", t.Name()+"/vanishes"
	old := mustTake(t, holder, vanishes)
	woken := waiting(t, waiter, vanishes)

	breakIt(s)
	fresh := mustTake(t, holder, appears)
	must(t, holder.Release(soon(t), old))
	stillWaits(t, woken) // it cannot know
	mend(s)
	<-woken
	awaitSeen(t, waiter, appears, true)

	again := waiting(t, waiter, appears) // and is told of what comes later
	must(t, holder.Release(soon(t), fresh))
	<-again
}

// watchSurvivesLeaderLoss: a member that has lost its leader ends the watch.
func (m members) watchSurvivesLeaderLoss(t *testing.T) {
	m.settle(t)
	s := m.follower(t)
	others := m.others(s)
	l, key := m.open(t, 20*time.Second, s), t.Name()
	lease := mustTake(t, l, key)
	woken := waiting(t, l, key)
	stopped(t, others...)
	await.That(t, "the loss of the leader", func() bool {
		status, err := m.admin.Status(soon(t), "http://"+s.Addr)
		return err == nil && status.Leader == 0
	})
	each(t, others, (*cluster.Server).Continue)
	m.settle(t)
	stillWaits(t, woken)
	must(t, l.Release(soon(t), lease))
	<-woken
}
