package claims

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/point"
)

// claimsOfStatements: what one statement does at once, and what PostgreSQL does
// with two that meet.
var claimsOfStatements = []Claim{
	{
		ID:   "C33",
		Says: "Check, saving of the number and content are one statement.",
		Cases: []Case{
			{Name: "a", About: "PostgreSQL is killed ten times while clients write", Strategy: "redis-incr-script+fenced",
				Own: &cluster.Spec{Redis: 1, Postgres: true, PostgresSettings: map[string]string{
					// Commits take so long that a kill finds some under way.
					"commit_delay": "20000", "commit_siblings": "0",
				}},
				Resources: []string{"r0", "r1", "r2", "r3"}, Play: killedWhileWriting,
				Expect: "durability=holds stale-overwrite=holds fence-order=holds number=of-the-content",
				Breaks: []Break{With("redis-incr-script+fence-content-first")}},
			{Name: "b", About: "two statements, B killed between them", Strategy: "redis-incr-script+fence-content-first", TTL: 3 * time.Second, Play: killedBetween,
				Expect: "write(A)=ok all3=violated"},
		},
	},
	{
		ID:   "C34",
		Says: "Read Committed: an UPDATE that meets an unfinished write waits, then checks its condition on the new row.",
		Cases: []Case{
			{Name: "a", About: "42 is open, 41 arrives, 42 commits", Strategy: "redis-incr-script+fenced-open", Play: meets("42", "41", "fenced"),
				Expect: "write(42)=ok write(41)=rejected all3=holds",
				Breaks: []Break{Play("the check is a SELECT of its own", meets("42", "41", "fence-transaction"))}},
			{Name: "b", About: "42 is open, 41 arrives, 42 is rolled back", Strategy: "redis-incr-script+fenced-rolled-back", Play: meets("42", "41", "fenced"),
				Expect: "write(42)=fail write(41)=ok all3=holds"},
			{Name: "c", About: "41 is open, 42, which has read the same, arrives, 41 commits", Strategy: "redis-incr-script+fenced-open", Play: meets("41", "42", "fenced"),
				Expect: "write(41)=ok write(42)=ok only rmw-atomic=violated"},
			{Name: "d", About: "as (a), 41 under REPEATABLE READ", Strategy: "redis-incr-script+fenced-open", Play: meets("42", "41", "fenced-repeatable-read"),
				Expect: "write(42)=ok write(41)=fail sqlstate(41)=40001 all3=holds"},
			{Name: "e", About: "as (a), 41 under SERIALIZABLE", Strategy: "redis-incr-script+fenced-open", Play: meets("42", "41", "fenced-serializable"),
				Expect: "write(42)=ok write(41)=fail sqlstate(41)=40001 all3=holds"},
		},
	},
}

// killedWhileWriting: two clients for each of four rows write without a rest;
// ten times PostgreSQL is killed at a moment that the seed decides.
func killedWhileWriting(s *Stage) {
	const kills, unknownWanted = 10, 10
	var parts []Part
	for i, resource := range s.resources() {
		parts = append(parts, Part{Name: fmt.Sprintf("w%d", 2*i+1), Resource: resource}, Part{Name: fmt.Sprintf("w%d", 2*i+2), Resource: resource})
	}
	writers := s.Parts(parts...)
	draw := rand.New(rand.NewPCG(uint64(s.run.seed), 33))
	book := tokenBook{tokens: map[string]int64{}}
	var unknown atomic.Int64
	s.Tell("number", "of-the-content")
	for range kills {
		var accepted, gone atomic.Int64
		var restart func()
		enough := int64(4 + draw.IntN(24))
		// Commits come in groups; the kill must not come right behind one each time.
		later := time.Duration(draw.IntN(30)) * time.Millisecond
		do := []func(){func() {
			s.await("writes until the kill", func() bool { return accepted.Load() >= enough || gone.Load() == int64(len(writers)) })
			time.Sleep(later)
			restart = s.KillServer(s.Servers.Cluster.Postgres)
		}}
		for _, w := range writers {
			do = append(do, func() {
				defer gone.Add(1)
				for {
					wrote := book.update(w)
					if wrote == history.Info {
						unknown.Add(1)
					}
					if wrote != history.OK && wrote != history.Rejected {
						return // the store is away
					}
					accepted.Add(1)
				}
			})
		}
		s.AtOnce(do...)
		restart()
		if row, fence, holder := s.strayNumber(&book); row != "" {
			s.Tell("number", "of-another")
			s.Say("the number of %s is %d, its content was written under %d", row, fence, holder)
		}
	}
	s.Say("PostgreSQL was killed and came back %d times", kills)
	s.Prove(unknown.Load() >= unknownWanted, "10 writes were under way when it was killed", "%d", unknown.Load())
}

// tokenBook is which grant has which token.
type tokenBook struct {
	mu     sync.Mutex
	tokens map[string]int64
}

// update is one whole update, up to where it fails: the outcome of its write,
// or of its read if there was no write.
func (b *tokenBook) update(a *Actor) history.Outcome {
	got := a.Acquire()
	b.mu.Lock()
	b.tokens[got.Op] = got.Token
	b.mu.Unlock()
	defer a.Release()
	if read := a.Read(); read.Outcome != history.OK {
		return history.Fail
	}
	return a.Write().Outcome
}

// strayNumber looks for a row whose number is not that of the grant which wrote
// its content. It is the first look after a restart.
func (s *Stage) strayNumber(book *tokenBook) (holder string, fence, token int64) {
	var rows map[string]int64
	s.Await("an answer of PostgreSQL", func(ctx context.Context) bool {
		return s.store.QueryRow(ctx, `SELECT coalesce(json_object_agg(payload->>'grant', last_fence) FILTER (WHERE payload->>'grant' <> ''), '{}') FROM config`).Scan(&rows) == nil
	})
	for grant, fence := range rows {
		if token := book.tokens[grant]; token != fence {
			return "the row written by " + grant, fence, token
		}
	}
	return "", 0, 0
}

// killedBetween is C9's schedule, in which B is killed when its content is saved
// and its number is not.
func killedBetween(s *Stage) {
	cast := s.Cast("A", "B")
	a, b := cast[0], cast[1]
	a.Acquire()
	read := a.Read()
	s.Stop(a)
	if !s.UntilLeaseEnded(a) || !s.TakesLock(b) {
		return
	}
	b.Read()
	b.Arm(point.Between)
	b.Begin(workloads.Step{Do: history.Write})
	b.AwaitAt(point.Between)
	s.Kill(b)
	var writer string
	var fence int64
	s.SQL([]any{&writer, &fence}, `SELECT payload->>'grant', last_fence FROM config WHERE id = 0`)
	looked := history.Now()
	token := a.Last(history.Acquire).Token
	s.Prove(writer == b.Last(history.Acquire).Op && fence < token, "B's content was there, under a number lower than A's", "last_fence = %d, A has %d", fence, token)
	wrote := s.ResumeInto(a, history.Write)
	a.Release()
	s.ProveStoppedUntil("B's write was seen", a, looked, read, wrote)
}

// meets: the first has executed its statement and its transaction is open; the
// statement of the later one, under another guard, arrives and waits for it;
// the first goes on.
func meets(first, later, under string) func(*Stage) {
	return func(s *Stage) {
		older, newer, ok := bothRead(s)
		if !ok {
			return
		}
		open, waits := older, newer
		if newer.Name == first {
			open, waits = newer, older
		}
		open.Arm(point.Between)
		opened := open.Begin(workloads.Step{Do: history.Write})
		open.AwaitAt(point.Between)
		waiting := waits.Begin(workloads.Step{Do: history.Write, Guard: under})
		s.awaitBlocked(waits, open)
		open.Go()
		opened.Wait()
		late := waiting.Wait()
		if late.Outcome == history.Fail && strings.Contains(late.Error, "SQLSTATE 40001") {
			s.Tell("sqlstate("+later+")", "40001")
		}
		older.Release()
		newer.Release()
	}
}

// awaitBlocked waits until PostgreSQL says that one actor's statement waits for
// a lock that another's has.
func (s *Stage) awaitBlocked(waits, has *Actor) {
	blocked := false
	s.Await(waits.Name+" waits for a lock that "+has.Name+" has", func(ctx context.Context) bool {
		err := s.store.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity w JOIN pg_stat_activity h ON h.pid = ANY (pg_blocking_pids(w.pid))
			WHERE w.application_name = $1 AND h.application_name = $2 AND w.wait_event_type = 'Lock')`, waits.Connection(), has.Connection()).Scan(&blocked)
		return err == nil && blocked
	})
	s.Prove(blocked, waits.Name+"'s statement waited for "+has.Name+"'s transaction", "wait_event_type Lock, blocked by its backend")
	s.Say("%s waits for %s", waits.Name, has.Name)
}
