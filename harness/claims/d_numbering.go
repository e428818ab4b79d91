package claims

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/point"
)

// claimsOfNumbering: etcd's revisions as tokens.
var claimsOfNumbering = []Claim{
	{
		ID:   "C40",
		Says: "etcd 3.6: create a lease; one txn: key absent, so put it with the lease; the successful txn's revision is the token.",
		Cases: []Case{
			{Name: "a", About: "two contenders' txns at once, again and again", Strategy: "etcd-fenced", TTL: 10 * time.Second, Play: txnsAtOnce,
				Expect: "winners=20 tokens=create_revision all4=holds",
				Breaks: []Break{With("etcd-unconditional+fenced")}},
			{Name: "b", About: "killed between LeaseGrant and txn", Strategy: "etcd-fenced", Own: &cluster.Spec{Etcd: 1, Postgres: true}, Play: killedBeforeTxn,
				Expect: "acquire(B)=ok progress=holds"},
		},
	},
	{
		ID:   "C43",
		Says: "Revisions have gaps; 41 and 42 are only simplified numbers.",
		Cases: []Case{
			{Name: "a", About: "the number must be larger", Strategy: "etcd-fenced", Play: gaps,
				Expect: "write(A)=ok write(B)=ok all4=holds",
				Breaks: []Break{With("etcd+fence-next")}},
			{Name: "b", About: "the number must be the next", Strategy: "etcd+fence-next", Play: gaps,
				Expect: "write(A)=rejected write(B)=rejected progress=violated"},
		},
	},
}

// txnsAtOnce: in each round both contenders have a lease of their own, and send
// their txns together. A round in which a lease ended before its txn is no round.
func txnsAtOnce(s *Stage) {
	const rounds = 20
	cast := s.Cast("A", "B")
	winners, overlapped, created, played := 0, 0, 0, 0
	for try := 0; played < rounds && try < 2*rounds; try++ {
		won, together := txns(cast)
		if len(won) == 0 {
			continue
		}
		played++
		winners += len(won)
		if together {
			overlapped++
		}
		for _, c := range won {
			if s.createRevision(c.Lease().Key) == c.Lease().Token {
				created++
			}
		}
		for _, c := range won {
			c.Enter()
			c.Write()
			c.Release()
		}
		if len(won) > 1 && 2*overlapped >= played {
			break // that is enough, and many more would say that the grants cannot be told apart
		}
	}
	s.Tell("winners", fmt.Sprint(winners))
	tokens := "create_revision"
	if created < winners {
		tokens = fmt.Sprintf("create_revision in %d of %d", created, winners)
	}
	s.Tell("tokens", tokens)
	s.Prove(played > 0 && 2*overlapped >= played, "the txns of both were under way at once", "in %d of %d rounds", overlapped, played)
}

// txns has each contender get a lease, and then all send their txns. It returns
// who won, and whether the first two were under way at once.
func txns(cast []*Actor) (won []*Actor, together bool) {
	var tries []*Doing
	for _, c := range cast {
		c.Arm(point.Leased)
		tries = append(tries, c.Begin(workloads.Step{Do: history.Acquire, Tries: 1}))
	}
	for _, c := range cast {
		c.AwaitAt(point.Leased)
	}
	for _, c := range cast {
		c.Go()
	}
	var done []workloads.Done
	for i, t := range tries {
		done = append(done, t.Wait())
		if done[i].Outcome == history.OK {
			won = append(won, cast[i])
		}
	}
	return won, done[0].Call < done[1].Return && done[1].Call < done[0].Return
}

// createRevision is that of a key, 0 if it is absent.
func (s *Stage) createRevision(key string) int64 {
	ctx, cancel := s.Context()
	defer cancel()
	client, err := s.Servers.Etcd()
	s.must(err, "connect to etcd")
	got, err := client.Get(ctx, key)
	s.must(err, "look at "+key)
	if len(got.Kvs) == 0 {
		return 0
	}
	return got.Kvs[0].CreateRevision
}

// leases are those that etcd has.
func (s *Stage) leases(ctx context.Context) ([]clientv3.LeaseID, error) {
	client, err := s.Servers.Etcd()
	if err != nil {
		return nil, err
	}
	all, err := client.Leases(ctx)
	if err != nil {
		return nil, err
	}
	var ids []clientv3.LeaseID
	for _, l := range all.Leases {
		ids = append(ids, l.ID)
	}
	return ids, nil
}

// killedBeforeTxn: A has created its lease, and is killed before its key is put.
func killedBeforeTxn(s *Stage) {
	cast := s.Cast("A", "B")
	a, b := cast[0], cast[1]
	a.Arm(point.Leased)
	a.Begin(workloads.Step{Do: history.Acquire})
	a.AwaitAt(point.Leased)
	ctx, cancel := s.Context()
	defer cancel()
	listed, err := s.leases(ctx)
	s.must(err, "list the leases")
	absent := s.createRevision(s.Key(a.Resource)) == 0
	s.Kill(a)
	s.TakesOver(b)
	gone := s.Within(10*s.TTL, func(ctx context.Context) bool {
		left, err := s.leases(ctx)
		return err == nil && len(left) == 0
	})
	s.Prove(len(listed) == 1 && absent, "A's lease was there and its key was not", "%d leases", len(listed))
	s.Prove(gone, "then the lease was gone, by itself", "")
}

// gaps: other keys are written between the two grants.
func gaps(s *Stage) {
	cast := s.Cast("A", "B")
	for _, c := range cast {
		s.writeOthers(3)
		c.Acquire()
		c.Enter()
		c.Write()
		c.Release()
	}
	first, second := cast[0].Last(history.Acquire).Token, cast[1].Last(history.Acquire).Token
	s.Prove(second > first+1, "successive tokens differ by more than 1", "%d and %d", first, second)
}

// writeOthers puts keys that have nothing to do with any lock.
func (s *Stage) writeOthers(n int) {
	ctx, cancel := s.Context()
	defer cancel()
	client, err := s.Servers.Etcd()
	s.must(err, "connect to etcd")
	for range n {
		_, err := client.Put(ctx, "other/"+s.name, "")
		s.must(err, "write another key")
	}
}
