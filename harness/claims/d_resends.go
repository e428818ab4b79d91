package claims

import (
	"context"
	"strings"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/wire"
	"github.com/torture-harness/torture/workloads"
)

// claimsOfResends: the same change sent twice, and the answer that never came.
var claimsOfResends = []Claim{
	{
		ID:   "C38",
		Says: "The same token submitted again is refused.",
		Cases: []Case{
			{Name: "a", About: "one grant writes twice", Strategy: "etcd-fenced", Play: writesTwice,
				Expect: "first=ok second=rejected journal=w1 all4=holds",
				Breaks: []Break{With("etcd+fenced-le")}},
			{Name: "b", About: "resent, the first copy arrives late, guard <=", Strategy: "etcd+fenced-le", Resends: true, Play: resends,
				Expect: "first=info second=ok journal=w2,w1 only rmw-atomic=violated"},
			{Name: "c", About: "the same, guard <", Strategy: "etcd-fenced", Resends: true, Play: resends,
				Expect: "first=info second=ok journal=w2 all3=holds",
				Breaks: []Break{With("etcd+fenced-le")}},
		},
	},
	{
		ID:   "C39",
		Says: "When the success reply is lost, an idempotency key or a query of the result tells the outcome.",
		Cases: []Case{
			{Name: "a", About: "resent under the same token", Strategy: "etcd-fenced", Resends: true, Play: loses(false, resendProvesNothing),
				Expect: "first=info resend=rejected answer=unknown agrees=yes all4=holds",
				Breaks: []Break{Play("the empty result is taken for a failure of the first write", loses(false, resendProvesFailure))}},
			{Name: "b", About: "payload and last_fence are read", Strategy: "etcd-fenced", Play: loses(false, compareFence),
				Expect: "first=info answer=applied agrees=yes all4=holds"},
			{Name: "c", About: "the same after the next holder's write", Strategy: "etcd-fenced", Play: loses(true, compareFence),
				Expect: "first=info answer=unknown agrees=yes all4=holds"},
			{Name: "d", About: "the request's row is read, after the next holder's write", Strategy: "etcd+idempotency", Play: loses(true, findRequest),
				Expect: "first=info answer=applied agrees=yes all4=holds"},
			{Name: "e", About: "the empty result is taken for a failure, and all is done again", Strategy: "etcd-fenced", Resends: true, Play: doesAgain,
				Expect: "first=info resend=rejected write(A)=ok counted=2 all4=holds"},
		},
	},
}

// writesTwice: one grant, two writes from one basis.
func writesTwice(s *Stage) {
	a := s.Cast("A")[0]
	a.Acquire()
	read := a.Enter()
	token := a.Lease().Token
	w1, w2 := a.Write(), a.Write()
	s.Tell("first", string(w1.Outcome))
	s.Tell("second", string(w2.Outcome))
	s.Tell("journal", s.accepted(map[string]string{w1.Op: "w1", w2.Op: "w2"}))
	s.Prove(token > 0 && token == a.Lease().Token && read.Return < w1.Call, "both writes were sent under one token", "token %d", token)
}

// resends: A's write w1 hangs in the network; A takes it for lost and sends the
// change once more under the same token, against the rule. Then w1 arrives.
func resends(s *Stage) {
	a := s.Parts(Part{Name: "A", Wired: true})[0]
	prepare(a)
	a.Acquire()
	a.Enter()
	token := a.Lease().Token
	net := a.Wires.Postgres
	old := net.Conns(wire.Named(a.Connection()))
	s.Heal(net.Heal)
	net.HoldRequests(wire.Only(old...))
	first := a.Begin(workloads.Step{Do: history.Write})
	s.AwaitHeld(net)
	bytes := held(old)
	a.GiveUp()
	w1 := first.Wait()
	// The driver cancels first, which must not hit w1 later, and says goodbye then.
	s.Await("the client gave up its connection", func(context.Context) bool { return held(old) > bytes })
	w2 := a.Write()
	executed := s.InJournal(w1.Op)
	s.LetThrough(net)
	s.awaitSessions(a, 1)
	s.Tell("first", string(w1.Outcome))
	s.Tell("second", string(w2.Outcome))
	s.Tell("journal", s.accepted(map[string]string{w1.Op: "w1", w2.Op: "w2"}))
	s.Prove(bytes > 0 && !executed && s.InJournal(w2.Op) && held(old) == 0, "w1 was held until w2 had been accepted, and then let through", "%d bytes held", bytes)
	s.Prove(token > 0 && token == a.Lease().Token, "both were sent under one token", "token %d", token)
}

// prepare lets an actor write once under a grant of its own: from then on the
// statement is prepared, and a write is one message.
func prepare(a *Actor) {
	a.Acquire()
	a.Enter()
	a.Write()
	a.Release()
}

func held(conns []*wire.Conn) int {
	bytes := 0
	for _, c := range conns {
		bytes += c.Stats().HeldRequests
	}
	return bytes
}

// awaitSessions waits until an actor has so many sessions at most: what it sent
// over others has been executed.
func (s *Stage) awaitSessions(a *Actor, most int) {
	s.Await("old sessions of "+a.Name+" are over", func(ctx context.Context) bool {
		var left int
		err := s.store.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1`, a.Connection()).Scan(&left)
		return err == nil && left <= most
	})
}

// accepted lists those writes that the store has accepted, by its order: w2,w1.
func (s *Stage) accepted(names map[string]string) string {
	var all string
	s.SQL([]any{&all}, `SELECT coalesce(string_agg(write_id, ',' ORDER BY seq), '') FROM journal`)
	var found []string
	for _, id := range strings.Split(all, ",") {
		if names[id] != "" {
			found = append(found, names[id])
		}
	}
	return strings.Join(found, ",")
}
