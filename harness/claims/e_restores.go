package claims

import (
	"time"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/wire"
	"github.com/torture-harness/torture/workloads"
)

// extraRestores: a number that has gone back, and the strongest variant of the fence.
var extraRestores = []Claim{
	{
		ID:   "X10",
		Says: "An old token survives a restore.",
		Cases: []Case{
			{About: "etcd restored as it was, an old holder is on its way", Strategy: "etcd-fenced", TTL: time.Minute, Resources: rows, Own: oneMember, Play: restored("s", 0),
				Expect: "write(B)=ok write(A)=ok token=lower token-order=violated all4=violated",
				Breaks: []Break{Play("the revision is raised in the restore", restored("s", bump))}},
		},
	},
	{
		ID:   "X11",
		Says: "Claim on acquire: a new holder raises the fence when it reads, not when it writes.",
		Cases: []Case{
			{Name: "a", About: "A writes late, B has read and not written", Strategy: "etcd-claim", TTL: 2 * time.Second, Play: lateAndFirst(true),
				Expect: "claim(B)=ok write(A)=rejected write(B)=ok all4=holds last=B",
				Breaks: []Break{With("etcd+claim-ge")}},
			{Name: "b", About: "one grant writes three times", Strategy: "etcd-claim", TTL: 3 * time.Second, Play: writesOnAndOn,
				Expect: "first=ok second=ok third=ok all4=holds"},
			{Name: "c", About: "A's claim hangs in the network until B has claimed", Strategy: "etcd-claim", Play: claimsLate,
				Expect: "claim(A)=rejected claim(B)=ok write(B)=ok all4=holds last=B"},
			{Name: "d", About: "resent, both copies arrive", Strategy: "etcd-claim", Resends: true, Play: resends,
				Expect: "first=info second=ok journal=w2,w1 only rmw-atomic=violated"},
		},
	},
}

// writesOnAndOn: three writes of one grant, each computed from the last.
func writesOnAndOn(s *Stage) {
	a := s.Cast("A")[0]
	a.Acquire()
	a.Enter()
	token := a.Lease().Token
	unmoved := true
	for _, name := range []string{"first", "second", "third"} {
		if name != "first" {
			a.Read()
		}
		s.Tell(name, string(a.Write().Outcome))
		var last int64
		s.SQL([]any{&last}, `SELECT last_fence FROM config WHERE id = 0`)
		unmoved = unmoved && last == token
	}
	a.Release()
	s.Prove(unmoved && token > 0, "last_fence stayed at the token that was claimed", "%d", token)
}

// claimsLate: A's claim is held on its way until A's lease has ended and B has claimed.
func claimsLate(s *Stage) {
	cast := s.Parts(Part{Name: "A", Wired: true}, Part{Name: "B"})
	a, b := cast[0], cast[1]
	a.Acquire()
	net := a.Wires.Postgres
	conns := net.Conns(wire.Named(a.Connection()))
	s.Heal(net.Heal)
	net.HoldRequests(wire.Only(conns...))
	late := a.Begin(workloads.Step{Do: history.Claim})
	s.AwaitHeld(net)
	if !s.UntilLeaseEnded(a) || !s.TakesLock(b) {
		return
	}
	claimed := b.Enter()
	bytes := held(conns)
	waiting := !late.Ended()
	s.LetThrough(net)
	answer := late.Wait()
	b.Write()
	s.Prove(bytes > 0 && waiting && claimed.Return < answer.Return, "A's claim had been sent and not executed when B's was answered", "%d bytes held", bytes)
	s.TellLast(a, b)
}
