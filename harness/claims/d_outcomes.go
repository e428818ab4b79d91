package claims

import (
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/wire"
	"github.com/torture-harness/torture/workloads"
)

// theRequest is the name of what A wants done, however often it sends it.
const theRequest = "A-wants-this-once"

// What can be said about a write whose answer never came.
const (
	applied    = "applied"
	notApplied = "not-applied"
	unknown    = "unknown"
)

// question asks what became of a's write, sent under a token.
type question func(s *Stage, a *Actor, write workloads.Done, token int64) string

// loses: the answer to A's write is lost on its way, perhaps another writes, and
// then A asks what became of it.
func loses(another bool, ask question) func(*Stage) {
	return func(s *Stage) {
		cast := s.Parts(Part{Name: "A", Wired: true}, Part{Name: "B"})
		a, b := cast[0], cast[1]
		a.Acquire()
		a.Enter()
		token := a.Lease().Token
		write := s.loseReply(a)
		if another {
			a.Release()
			if !s.TakesOver(b) {
				return
			}
			s.Prove(s.InJournal(b.Last(history.Write).Op), "another holder has written since", "%s", b.Last(history.Write).Op)
		}
		answer := ask(s, a, write, token)
		there := s.InJournal(write.Op)
		s.Tell("answer", answer)
		s.Tell("agrees", map[bool]string{true: "yes", false: "no"}[answer == unknown || (answer == applied) == there])
		s.Prove(there, "the store had accepted the write whose answer was lost", "%s", write.Op)
	}
}

// loseReply has A write; the connection is cut when the answer to its commit comes.
func (s *Stage) loseReply(a *Actor) workloads.Done {
	net := a.Wires.Postgres
	conns := net.Conns(wire.Named(a.Connection()))
	said := "UPDATE 1"
	if a.Strategy.Guard.Name == "idempotency" { // a transaction
		said = "COMMIT"
	}
	net.CutReplies(wire.Only(conns...), wire.Containing(said))
	heal := s.Heal(net.Heal)
	write := a.Begin(workloads.Step{Do: history.Write, Request: theRequest}).Wait()
	heal()
	s.Tell("first", string(write.Outcome))
	s.Prove(len(conns) == 1 && conns[0].Stats().ReplyCut, "the connection was cut when the answer came, before A had read it", "%d connections", len(conns))
	return write
}

// resend sends the same again under the same token.
func resend(s *Stage, a *Actor) workloads.Done {
	again := a.Begin(workloads.Step{Do: history.Write, Request: theRequest}).Wait()
	s.Tell("resend", string(again.Outcome))
	return again
}

// resendProvesNothing: an empty result may be that of the first one's success.
func resendProvesNothing(s *Stage, a *Actor, _ workloads.Done, _ int64) string {
	if resend(s, a).Outcome == history.OK {
		return notApplied
	}
	return unknown
}

// resendProvesFailure is the wrong conclusion.
func resendProvesFailure(s *Stage, a *Actor, _ workloads.Done, _ int64) string {
	if resend(s, a).Outcome == history.OK {
		return applied
	}
	return notApplied
}

// compareFence looks at the row's number: A's own, or one that says nothing.
func compareFence(s *Stage, a *Actor, write workloads.Done, token int64) string {
	var id string
	var last int64
	s.SQL([]any{&id, &last}, `SELECT payload->>'write_id', last_fence FROM config WHERE id = 0`)
	switch {
	case last == token && id == write.Op:
		return applied
	case last < token:
		return notApplied // and it may arrive yet
	default:
		return unknown
	}
}

// findRequest looks for the row that was written in the transaction of the write.
func findRequest(s *Stage, a *Actor, _ workloads.Done, _ int64) string {
	var there, other bool
	s.SQL([]any{&there, &other}, `SELECT EXISTS (SELECT FROM request WHERE id = $1), EXISTS (SELECT FROM request WHERE id = 'never sent')`, theRequest)
	s.Prove(!other, "a request that was never sent has no row", "")
	if there {
		return applied
	}
	return notApplied
}

// doesAgain: A takes the empty result of its resend for failure and does
// everything again; what it counts is counted twice.
func doesAgain(s *Stage) {
	a := s.Parts(Part{Name: "A", Wired: true})[0]
	a.Acquire()
	a.Enter()
	first := s.loseReply(a)
	resend(s, a)
	a.Release()
	a.Acquire()
	a.Enter()
	again := a.Begin(workloads.Step{Do: history.Write, Request: theRequest}).Wait()
	var counted string
	s.SQL([]any{&counted}, `SELECT payload->'fields'->>'A' FROM config WHERE id = 0`)
	s.Tell("counted", counted)
	s.Prove(s.InJournal(first.Op) && s.InJournal(again.Op), "the store has two writes of one request", "%s and %s, for %s", first.Op, again.Op, theRequest)
}
