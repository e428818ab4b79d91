package claims

import (
	"fmt"
	"time"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

// claimsOfEntries: where the check stands, and what other checks are worth.
var claimsOfEntries = []Claim{
	{
		ID:   "C46",
		Says: "Every write entry must check.",
		Cases: []Case{
			{Name: "a", About: "A's late write comes through a second, plain entry", Strategy: "etcd-fenced", TTL: 2 * time.Second, Play: entryOfA,
				Expect: "write(A)=ok write(B)=ok second-entry=leaves-the-number all3=violated last=A"},
			{Name: "b", About: "B writes through it, A's late write is checked in vain", Strategy: "etcd-fenced", TTL: 2 * time.Second, Play: entryOfB,
				Expect: "write(A)=ok write(B)=ok second-entry=leaves-the-number all3=violated last=A"},
			{Name: "c", About: "an administrator without a lock writes through it", Strategy: "etcd-fenced", TTL: 2 * time.Second, Play: entryOfAdmin,
				Expect: "write(A)=rejected write(B)=ok write(W)=ok second-entry=leaves-the-number all3=violated last=W"},
			{Name: "d", About: "a trigger compares at every entry", Strategy: "etcd+fence-trigger", TTL: 2 * time.Second, Play: entryOfAll,
				Expect: "write(A)=rejected write(B)=ok write(W)=rejected second-entry=leaves-the-number all3=holds last=B",
				Breaks: []Break{With("etcd-fenced")}},
		},
	},
	{
		ID:   "C47",
		Says: "An idempotency key alone removes duplicates of one request; old content under another request id still overwrites B.",
		Cases: []Case{
			{Name: "a", About: "one request sent twice", Strategy: "redis-setnx+idempotency", Play: oneRequestTwice,
				Expect: "first=ok second=rejected journal=w1 all4=holds",
				Breaks: []Break{With("redis-setnx+idempotency-no-key")}},
			{Name: "b", About: "a pause, a new id for each write", Strategy: "redis-setnx+idempotency", TTL: 2 * time.Second, Play: requestsOfC9,
				Expect: "write(A)=ok write(B)=ok requests=2 lease-exclusion=holds all3=violated last=A"},
		},
	},
	{
		ID:   "C48",
		Says: "Conditional update on the resource's version: B moves v1 to v2; A carrying v1 is refused.",
		Cases: []Case{
			{Name: "a", About: "a pause between read and write", Strategy: "redis-setnx+version", TTL: 2 * time.Second, Play: versionsOfC9,
				Expect: "write(A)=rejected write(B)=ok all4=holds last=B",
				Breaks: []Break{With("redis-setnx+plain")}},
			{Name: "b", About: "the same without any lock", Strategy: "version-cas", Play: versionsWithoutLock,
				Expect: "write(A)=rejected write(B)=ok all3=holds last=B",
				Breaks: []Break{With("none+plain")}},
			{Name: "c", About: "a pause before the read", Strategy: "redis-setnx+version", TTL: 2 * time.Second, Play: lateRead,
				Expect: "write(A)=ok write(B)=ok only fence-order=violated last=A"},
		},
	},
	{
		ID:   "C49",
		Says: "Where neither generation nor version is checked, locking plus request de-duplication does not stop the overwrite.",
		Cases: []Case{
			{About: "a sink that only knows requests", Strategy: "redis-setnx+sink-idempotency", TTL: 2 * time.Second, Play: requestsOfSink,
				Expect: "write(A)=ok write(B)=ok journal=B,A lease-exclusion=holds all3=violated last=A",
				Breaks: []Break{With("redis-setnx+sink-version")}},
		},
	},
}

// secondEntry is the guard of an entry that was forgotten.
const secondEntry = "plain"

// entryOfA: C9, and A's late write comes through the second entry.
func entryOfA(s *Stage) {
	cast := s.Cast("A", "B")
	a, b := cast[0], cast[1]
	a.Acquire()
	read := a.Enter()
	s.Stop(a)
	if !s.UntilLeaseEnded(a) || !s.TakesOver(b) {
		return
	}
	accepted := s.InJournal(b.Last(history.Write).Op)
	unmoved := s.watchFence()
	late := a.Begin(workloads.Step{Do: history.Write, Guard: secondEntry})
	s.Resume(a)
	wrote := late.Wait()
	unmoved()
	s.ProveC9(a, b, read, wrote, accepted)
	s.TellLast(a, b)
}

// entryOfB: C9, and B's write had come through the second entry.
func entryOfB(s *Stage) {
	cast := s.Cast("A", "B")
	a, b := cast[0], cast[1]
	a.Acquire()
	read := a.Enter()
	s.Stop(a)
	if !s.UntilLeaseEnded(a) || !s.TakesLock(b) {
		return
	}
	b.Enter()
	unmoved := s.watchFence()
	b.WriteThrough(secondEntry)
	unmoved()
	b.Release()
	accepted := s.InJournal(b.Last(history.Write).Op)
	wrote := s.ResumeInto(a, history.Write)
	s.ProveC9(a, b, read, wrote, accepted)
	s.TellLast(a, b)
}

// entryOfAdmin: C9, and W, who has no lock and read before B came, writes
// through the second entry.
func entryOfAdmin(s *Stage) { withAdmin(s, "") }

// entryOfAll: W and A both come late, and through the second entry.
func entryOfAll(s *Stage) { withAdmin(s, secondEntry) }

func withAdmin(s *Stage, entryOfA string) {
	cast := s.Parts(Part{Name: "A"}, Part{Name: "B"}, Part{Name: "W", Strategy: "none+" + secondEntry})
	a, b, w := cast[0], cast[1], cast[2]
	a.Acquire()
	read := a.Enter()
	s.Stop(a)
	looked := w.Read()
	if !s.UntilLeaseEnded(a) || !s.TakesOver(b) {
		return
	}
	accepted := s.InJournal(b.Last(history.Write).Op)
	unmoved := s.watchFence()
	w.Write()
	late := a.Begin(workloads.Step{Do: history.Write, Guard: entryOfA})
	s.Resume(a)
	wrote := late.Wait()
	unmoved()
	s.ProveC9(a, b, read, wrote, accepted)
	s.Prove(looked.Return < b.Last(history.Acquire).Call, "W had read before B asked for the lock", "%.2f s before", seconds(b.Last(history.Acquire).Call-looked.Return))
	s.TellLast(a, b, w)
}

// watchFence notes the row's number; what it returns tells whether it has moved
// by then.
func (s *Stage) watchFence() (tell func()) {
	const ask = `SELECT last_fence FROM config WHERE id = 0`
	var before int64
	s.SQL([]any{&before}, ask)
	return func() {
		var after int64
		s.SQL([]any{&after}, ask)
		word := "leaves-the-number"
		if after != before {
			word = fmt.Sprintf("moves-the-number-from-%d-to-%d", before, after)
		}
		s.Tell("second-entry", word)
	}
}

// oneRequestTwice: A sends one request twice, having been answered.
func oneRequestTwice(s *Stage) {
	a := s.Cast("A")[0]
	a.Acquire()
	a.Enter()
	w1 := a.Begin(workloads.Step{Do: history.Write, Request: theRequest}).Wait()
	w2 := a.Begin(workloads.Step{Do: history.Write, Request: theRequest}).Wait()
	a.Release()
	s.Tell("first", string(w1.Outcome))
	s.Tell("second", string(w2.Outcome))
	s.Tell("journal", s.accepted(map[string]string{w1.Op: "w1", w2.Op: "w2"}))
	s.Prove(w1.Return < w2.Call && w1.Op != w2.Op, "the second was sent after the first had been answered", "%.3f s later", seconds(w2.Call-w1.Return))
}

// requestsOfC9: C9 with a request of its own for each write.
func requestsOfC9(s *Stage) {
	c9(s)
	var n string
	s.SQL([]any{&n}, `SELECT count(DISTINCT id)::text FROM request`)
	s.Tell("requests", n)
}

// requestsOfSink: C9 on a sink; each write is a request of its own.
func requestsOfSink(s *Stage) {
	c9(s)
	names := map[string]string{}
	for _, a := range s.actors {
		names[a.Last(history.Write).Op] = a.Name
	}
	s.Prove(len(names) == 2 && names[""] == "", "A's and B's writes had request ids of their own", "%v", names)
	s.Tell("journal", s.accepted(names))
}

// versionsOfC9: C9; both clients carry the version that they read.
func versionsOfC9(s *Stage) {
	c9(s)
	s.proveOneVersion(s.actors[0], s.actors[1])
}

func (s *Stage) proveOneVersion(a, b *Actor) {
	// A refused client looks again, which is no step; these are the reads they computed from.
	mine, theirs := a.Last(history.Read), b.Last(history.Read)
	s.Prove(mine.Version == theirs.Version && mine.WriteID == theirs.WriteID && mine.WriteID != "", "both carried one version", "version %d of %s", mine.Version, mine.WriteID)
}

// versionsWithoutLock: A reads and is stopped; B reads and writes; A goes on.
func versionsWithoutLock(s *Stage) {
	cast := s.Cast("A", "B")
	a, b := cast[0], cast[1]
	read := a.Read()
	s.Stop(a)
	b.Read()
	wrote := b.Write()
	accepted := s.InJournal(wrote.Op)
	late := s.ResumeInto(a, history.Write)
	stop := a.stops[0]
	s.Prove(accepted && read.Return < stop.From && stop.From < b.Last(history.Read).Call && wrote.Return < stop.To && stop.To < late.Call,
		"A was stopped between its read and its write, and B read and wrote meanwhile", "%d threads, %.2f s", stop.Threads, seconds(stop.To-stop.From))
	s.proveOneVersion(a, b)
	s.TellLast(a, b)
}

// lateRead: A is stopped before it has read, and computes from B's write.
func lateRead(s *Stage) {
	cast := s.Cast("A", "B")
	a, b := cast[0], cast[1]
	took := a.Acquire()
	s.Stop(a)
	if !s.UntilLeaseEnded(a) || !s.TakesOver(b) {
		return
	}
	accepted := s.InJournal(b.Last(history.Write).Op)
	read := s.ResumeInto(a, history.Read)
	a.Write()
	s.ProveC9(a, b, took, read, accepted)
	s.Prove(read.WriteID == b.Last(history.Write).Op, "A computed from B's write", "%s", read.WriteID)
	s.TellLast(a, b)
}
