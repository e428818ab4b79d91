package claims

import (
	"fmt"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// claimsOfRefusals: what a refusal means, and what a fence cannot refuse.
var claimsOfRefusals = []Claim{
	{
		ID:   "C35",
		Says: "An empty result means: drop the computation; to retry, acquire, read and compute again.",
		Cases: []Case{
			{Name: "a", About: "A acquires, reads and computes again", Strategy: "etcd-fenced", TTL: 3 * time.Second, Play: triesAgain(true),
				Expect: "write(A,41)=rejected write(A,43)=ok all3=holds field(B)=there"},
			{Name: "b", About: "A acquires and submits its old content again", Strategy: "etcd-fenced", TTL: 3 * time.Second, Play: triesAgain(false),
				Expect: "write(A,41)=rejected write(A,43)=ok only rmw-atomic=violated field(B)=gone",
				Breaks: []Break{With("etcd+version")}},
		},
	},
	{
		ID:   "C36",
		Says: "41 arrives first, 42 has not been accepted: 41 may succeed.",
		Cases: []Case{
			{Name: "a", About: "B has read, and not written", Strategy: "etcd-fenced", TTL: 3 * time.Second, Play: lateAndFirst(true),
				Expect: "write(A)=ok write(B)=ok only rmw-atomic=violated last=B",
				Breaks: []Break{With("etcd-claim")}},
			{Name: "b", About: "B has the lock, and not read", Strategy: "etcd-fenced", TTL: 3 * time.Second, Play: lateAndFirst(false),
				Expect: "write(A)=ok write(B)=ok all4=holds last=B"},
		},
	},
	{
		ID:   "C37",
		Says: "Fencing cannot notice that a lease has just ended.",
		Cases: []Case{
			{About: "stopped after the read; nobody else asks for the lock", Strategy: "etcd-fenced", TTL: 3 * time.Second, Play: nobodyElse,
				Expect: "write(A)=ok all4=holds",
				Breaks: []Break{With("etcd+etcd-txn")}},
		},
	},
}

// triesAgain is C9's schedule, after which the refused A takes the lock anew,
// and computes anew or not.
func triesAgain(afresh bool) func(*Stage) {
	return func(s *Stage) {
		cast := s.Cast("A", "B")
		a, b := cast[0], cast[1]
		if !c9Of(s, a, b, 0) {
			return
		}
		s.Tell("write(A,41)", string(a.Last(history.Write).Outcome))
		if a.Acquire(); afresh {
			a.Read()
		}
		s.Tell("write(A,43)", string(a.Write().Outcome))
		a.Release()
		newer, newest := b.Last(history.Acquire).Token, a.Last(history.Acquire).Token
		s.Prove(newest > newer, "A's new token is larger than B's", "%d and %d", newest, newer)
		basis := a.Last(history.Read).WriteID
		if afresh {
			s.Prove(basis == b.Last(history.Write).Op, "A computed from B's write", "%s", basis)
		} else {
			s.Prove(basis == history.InitialWrite, "A computed from the document before B's write", "%s", basis)
		}
		s.tellField("B")
	}
}

// lateAndFirst: A is stopped past its lease; B takes the lock and has read, or
// has not; A goes on and writes; B goes on and writes.
func lateAndFirst(hasRead bool) func(*Stage) {
	return func(s *Stage) {
		cast := s.Cast("A", "B")
		a, b := cast[0], cast[1]
		a.Acquire()
		read := a.Enter()
		s.Stop(a)
		if !s.UntilLeaseEnded(a) || !s.TakesLock(b) {
			return
		}
		until, what := b.Last(history.Acquire).Return, "B had been granted the lock"
		if hasRead {
			until, what = b.Enter().Return, "B had read"
		}
		wrote := s.ResumeInto(a, history.Write)
		seen := b.Last(history.Claim).WriteID + b.Last(history.Read).WriteID
		if !hasRead {
			seen = b.Enter().WriteID
		}
		b.Write()
		a.Release()
		b.Release()
		s.ProveStoppedUntil(what, a, until, read, wrote)
		s.Prove(wrote.Call > b.Last(history.Acquire).Return, "A wrote after B had been granted the lock", "%.3f s after", seconds(wrote.Call-b.Last(history.Acquire).Return))
		want := history.InitialWrite
		if !hasRead {
			want = wrote.Op
		}
		s.Prove(seen == want, "B computed from "+map[bool]string{true: "the document before A's write", false: "A's write"}[hasRead], "%s", seen)
		s.TellLast(a, b)
	}
}

// nobodyElse: A is stopped until its key is gone, and goes on.
func nobodyElse(s *Stage) {
	a := s.Cast("A")[0]
	a.Acquire()
	read := a.Read()
	s.Stop(a)
	if !s.UntilLeaseEnded(a) {
		return
	}
	gone := history.Now()
	wrote := s.ResumeInto(a, history.Write)
	a.Release()
	s.ProveStoppedUntil("its key was gone", a, gone, read, wrote)
	s.Prove(gone < wrote.Call, "the key was gone before A wrote", "%.3f s before", seconds(wrote.Call-gone))
	s.Prove(len(s.actors) == 1, "nobody else asked for the lock", "%s", fmt.Sprintf("%d actor", len(s.actors)))
}
