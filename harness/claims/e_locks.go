package claims

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/wire"
	"github.com/torture-harness/torture/workloads"
)

// extraLocks: ghosts, twins and dead waiters.
var extraLocks = []Claim{
	{
		ID:   "X2",
		Says: "Ghost lock: a SET that the client has given up still takes the lock.",
		Cases: []Case{
			{About: "given up and undone before it arrives", Strategy: "redis-setnx+plain", TTL: 3 * time.Second, Play: x2,
				Expect: "acquire(A)=info release(A)=lost orphan=expired lease-exclusion=holds progress=holds",
				Breaks: []Break{Play("A deletes only after the SET was answered", x2Answered)}},
		},
	},
	{
		ID:   "X5",
		Says: "Two Mutexes on one etcd Session both acquire.",
		Cases: []Case{
			{Name: "a", About: "plain store", Strategy: "etcd-mutex-shared+plain", TTL: 4 * time.Second, Play: x5,
				Expect: "acquire(m2)=ok tokens=one early(m2)=yes write(m1)=ok token-order=violated all4=violated",
				Breaks: []Break{With("etcd-mutex+plain")}},
			{Name: "b", About: "fenced store", Strategy: "etcd-mutex-shared+fenced", TTL: 4 * time.Second, Play: x5,
				Expect: "acquire(m2)=ok tokens=one early(m2)=yes write(m1)=rejected token-order=violated only lease-exclusion=violated",
				Breaks: []Break{With("etcd-mutex+fenced")}},
		},
	},
	{
		ID:   "X12",
		Says: "A waiter is granted a lock although its own lease has died (etcd up to 3.4.3).",
		Cases: []Case{
			{Name: "a", About: "its lease is revoked", Strategy: "etcd-mutex-wait+plain", TTL: 2 * time.Second, Play: x12Revoked,
				Expect: "acquire(B)=fail all4=holds",
				Breaks: []Break{With("etcd-mutex-unchecked+plain")}},
			{Name: "b", About: "it is stopped", Strategy: "etcd-mutex-wait+plain", TTL: 2 * time.Second, Play: x12Stopped,
				Expect: "acquire(B)=fail all4=holds",
				Breaks: []Break{With("etcd-mutex-unchecked+plain")}},
		},
	},
}

// onlySET chooses the request that may take the lock.
var onlySET = wire.Containing("\r\nSET\r\n")

func x2(s *Stage)         { s.ghost(false) }
func x2Answered(s *Stage) { s.ghost(true) }

// ghost: A's SET is held in the network. A gives it up and takes it back, over
// another connection, before it arrives; or it waits for the answer first.
func (s *Stage) ghost(answered bool) {
	parts := s.Parts(Part{Name: "A", Wired: true, Patience: s.TTL}, Part{Name: "B"})
	a, b := parts[0], parts[1]
	key, m := s.Key(a.Resource), s.Monitor(0)
	a.Wires.Redis[0].HoldRequests(onlySET)
	taking := a.Begin(workloads.Step{Do: history.Acquire, Tries: 1})
	s.AwaitHeld(a.Wires.Redis[0])
	s.Prove(!s.lookNow(key).there(), "A's SET was held in the network, and nobody had the key", "%s", key)
	if answered {
		s.LetThrough(a.Wires.Redis[0])
		taking.Wait()
		a.Release()
		k := s.lookNow(key)
		if s.TakesOver(b) {
			s.tellOrphan(k, b)
		}
		return
	}
	taking.Wait()
	m.Sync()
	asked, deleted := len(m.Lines("lua] "+command("GET", key))), len(m.Lines("lua] "+command("DEL", key)))
	s.Prove(asked == 1 && len(m.Lines(command("SET", key))) == 0, "the delete was executed before the SET", "MONITOR shows the script's GET %d times and no SET yet", asked)
	s.Tell("release(A)", map[bool]string{true: "lost", false: "ok"}[deleted == 0])
	s.Say("A gave up and deleted %d keys", deleted)
	s.LetThrough(a.Wires.Redis[0])
	s.Await("the ghost's key", func(ctx context.Context) bool { return s.look(ctx, key).there() })
	k := s.lookNow(key)
	sets := m.sets(key)
	s.Prove(len(sets) == 1 && k.value == sets[0] && k.left > s.TTL*2/3, "then the key had A's value, and nearly its whole lease", "%v of %v", k.left, s.TTL)
	if s.TakesOver(b) {
		s.tellOrphan(k, b)
	}
}

// queue is the keys of an etcd lock, the oldest first: its holder's, and those
// of who waits.
func (s *Stage) queue(ctx context.Context, resource string) []queued {
	client, err := s.Servers.Etcd()
	s.must(err, "look at the lock")
	got, err := client.Get(ctx, s.Key(resource)+"/", clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		if ctx.Err() == nil {
			s.must(err, "look at the lock")
		}
		return nil
	}
	var keys []queued
	for _, kv := range got.Kvs {
		name := string(kv.Key)
		lease, _ := strconv.ParseInt(name[strings.LastIndex(name, "/")+1:], 16, 64)
		keys = append(keys, queued{lease: lease, created: kv.CreateRevision})
	}
	return keys
}

// queued is one key of a lock of etcd's library: the lease is in its name.
type queued struct{ lease, created int64 }

func x5(s *Stage) {
	pair := s.Pair("", "m1", "m2")
	m1, m2 := pair[0], pair[1]
	first := m1.Acquire()
	m1.Read()
	ctx, cancel := s.Context()
	defer cancel()
	keys := s.queue(ctx, m1.Resource)
	s.Prove(len(keys) == 1 && keys[0].created == first.Token, "m1 held the lock when m2 asked for it", "one key, created at revision %d", first.Token)
	s.intrudes(m2, m1)
	tokens := "two"
	if m2.Last(history.Acquire).Token == first.Token {
		tokens = "one"
	}
	s.Say("m1 has token %d and m2 has %d", first.Token, m2.Last(history.Acquire).Token)
	s.Tell("tokens", tokens)
}

// waitsBehind has A take the lock and B wait for it inside the library. It
// returns B's lease.
func (s *Stage) waitsBehind(a, b *Actor) (waiting *Doing, lease int64) {
	a.Acquire()
	waiting = b.Begin(workloads.Step{Do: history.Acquire, Tries: 1})
	s.Await("B in the queue of the lock", func(ctx context.Context) bool {
		keys := s.queue(ctx, a.Resource)
		if len(keys) == 2 {
			lease = keys[1].lease
		}
		return len(keys) == 2 && keys[0].lease == a.Lease().ID
	})
	return waiting, lease
}

func (s *Stage) awaitDead(lease int64, resource string) (at int64) {
	s.Await("the end of B's key", func(ctx context.Context) bool {
		keys := s.queue(ctx, resource)
		return len(keys) == 1 && keys[0].lease != lease
	})
	return history.Now()
}

func x12Revoked(s *Stage) {
	cast := s.Cast("A", "B", "C")
	a, b, c := cast[0], cast[1], cast[2]
	waiting, lease := s.waitsBehind(a, b)
	client, err := s.Servers.Etcd()
	s.must(err, "revoke B's lease")
	ctx, cancel := s.Context()
	defer cancel()
	_, err = client.Revoke(ctx, clientv3.LeaseID(lease))
	s.must(err, "revoke B's lease")
	dead := s.awaitDead(lease, a.Resource)
	s.Prove(!waiting.Ended(), "B's Lock() had not returned when its key was gone", "lease %x", lease)
	released := a.Release()
	got := waiting.Wait()
	s.Prove(dead < released.Call && released.Call < got.Return, "B's key was gone before A released", "%.3f s before", seconds(released.Call-dead))
	s.diesWaiting(b, c, got)
}

func x12Stopped(s *Stage) {
	cast := s.Cast("A", "B", "C")
	a, b, c := cast[0], cast[1], cast[2]
	waiting, lease := s.waitsBehind(a, b)
	s.Stop(b)
	dead := s.awaitDead(lease, a.Resource)
	released := a.Release()
	if !s.TakesOver(c) {
		return
	}
	s.Resume(b)
	got := waiting.Wait()
	s.Prove(dead < released.Call && b.stops[0].To > released.Return, "B's key was gone, and B was stopped, when A released", "%.3f s before", seconds(released.Call-dead))
	s.diesWaiting(b, nil, got)
}

// diesWaiting is what a waiter without a lease does: nothing, unless it was
// granted the lock. c, if there is one, takes over meanwhile.
func (s *Stage) diesWaiting(b, c *Actor, got workloads.Done) {
	granted := got.Outcome == history.OK
	s.Say("the waiter without a lease was told: %s", fmt.Sprint(got.Outcome, " ", got.Error))
	if granted {
		b.Read()
	}
	if c != nil {
		s.TakesOver(c)
	}
	if granted {
		b.Write()
		b.Release()
	}
}
