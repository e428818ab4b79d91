package claims

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/guard"
)

// claimsOfFences: what the store must be like for its statement to refuse what
// it should.
var claimsOfFences = []Claim{
	{
		ID:   "C30",
		Says: "Every write carries its number, the store keeps the highest accepted: after B's 42, A's 41 is refused.",
		Cases: []Case{
			{About: "stopped after the read", Strategy: "etcd-fenced", TTL: 3 * time.Second, Play: fencedOff,
				Expect: "write(B)=ok write(A)=rejected all4=holds last=B",
				Breaks: []Break{
					With("etcd+fence-unchecked"),
					{About: "the comparison is turned round", Apply: func(c *Case) {
						// The numbers come down from above, so that there is a first write at all.
						c.Strategy, c.Tables = "etcd+fence-turned", `UPDATE config SET last_fence = 9223372036854775807`
					}},
				}},
		},
	},
	{
		ID:   "C31",
		Says: "Preconditions of the fence: id unique; last_fence NOT NULL, initially 0; each grant commits once.",
		Cases: []Case{
			{Name: "a", About: "last_fence is NULL", Strategy: "redis-incr-script+fenced-null", Play: withoutNumber,
				Expect: "write(42)=rejected progress=violated all3=holds"},
			{Name: "b", About: "no key, and two rows of one id", Strategy: "redis-incr-script+fenced-doubled", Play: twoRows,
				Expect: "write(42)=info rows-changed=2 status=error register=violated all3=undecided"},
			{Name: "c", About: "one grant commits twice", Strategy: "etcd-fenced", Play: twoCommits,
				Expect: "first=ok second=rejected all4=holds",
				Breaks: []Break{With("etcd+fenced-le")}},
			{Name: "d", About: "the row is gone", Strategy: "redis-incr-script+fenced-missing", Play: noRow(true),
				Expect: "write(42)=rejected reason=row-missing progress=violated",
				Breaks: []Break{Play("the row is not read after the refusal", noRow(false))}},
			{Name: "e", About: "the table as it should be", Strategy: "redis-incr-script+fenced", Play: soundTable,
				Expect: "sqlstate(null)=23502 sqlstate(again)=23505 write(1)=ok all4=holds"},
		},
	},
	{
		ID:   "C32",
		Says: "Token 42 returns the id of the row; then token 41 returns nothing, and B's content stays.",
		Cases: []Case{
			{About: "one statement twice, nobody is stopped", Strategy: "redis-incr-script+fenced", Play: lateByItself,
				Expect: "write(42)=ok write(41)=rejected last=42",
				Breaks: []Break{With("redis-incr-script+fence-unchecked")}},
		},
	},
}

// fencedOff is C9's schedule, whose grants have numbers.
func fencedOff(s *Stage) {
	cast := s.Cast("A", "B")
	a, b := cast[0], cast[1]
	if !c9Of(s, a, b, 0) {
		return
	}
	older, newer := a.Last(history.Acquire).Token, b.Last(history.Acquire).Token
	s.Prove(0 < older && older < newer, "A's token is smaller than B's", "%d and %d", older, newer)
}

// numbered has the next grant of a lock that counts in the Redis get a number.
func (s *Stage) numbered(next int64) {
	ctx, cancel := s.Context()
	defer cancel()
	s.must(s.Servers.Redis(0).Set(ctx, s.Key(s.resources()[0])+":token", next-1, 0).Err(), "set the counter of the lock")
}

// alone has one actor take the lock with the number 42 and read.
func alone(s *Stage) *Actor {
	s.numbered(42)
	a := s.Cast("42")[0]
	got := a.Acquire()
	a.Read()
	s.Prove(got.Token == 42, "it was granted 42", "%d", got.Token)
	return a
}

func withoutNumber(s *Stage) {
	var before, after bool
	s.SQL([]any{&before}, `SELECT last_fence IS NULL FROM config WHERE id = 0`)
	a := alone(s)
	a.Write()
	s.SQL([]any{&after}, `SELECT last_fence IS NULL FROM config WHERE id = 0`)
	s.Prove(before && after, "the row has no number, before and after", "NULL: %t, %t", before, after)
	a.Release()
}

func twoRows(s *Stage) {
	var before, after int
	s.SQL([]any{&before}, `SELECT count(*) FROM config WHERE id = 0`)
	a := alone(s)
	wrote := a.Write()
	s.SQL([]any{&after}, `SELECT count(*) FROM config WHERE id = 0 AND payload->>'write_id' = $1`, wrote.Op)
	s.Prove(before == 2 && after == 2, "two rows have the id, before and after", "%d, and %d have the write", before, after)
	changed := "unknown"
	if strings.Contains(wrote.Error, guard.ErrAmbiguous.Error()) {
		changed = fmt.Sprint(after)
	}
	s.Tell("rows-changed", changed)
	a.Release()
}

func twoCommits(s *Stage) {
	a := s.Cast("A")[0]
	a.Acquire()
	for _, one := range []string{"first", "second"} {
		a.Read()
		s.Tell(one, string(a.Write().Outcome))
	}
	a.Release()
	var fence int64
	s.SQL([]any{&fence}, `SELECT last_fence FROM config WHERE id = 0`)
	s.Prove(fence == a.Last(history.Acquire).Token, "the row has the number of the grant", "%d", fence)
}

// noRow: the row goes between the read and the write. A client that looks
// again after the refusal tells this from a number that is too low.
func noRow(look bool) func(*Stage) {
	return func(s *Stage) {
		document, err := json.Marshal(guard.Document{WriteID: history.InitialWrite, Fields: map[string]int{}})
		s.must(err, "make the document")
		s.must(s.ExecSQL(`INSERT INTO config (id, payload) VALUES (0, $1)`, document), "make the row")
		a := alone(s)
		s.must(s.ExecSQL(`DELETE FROM config`), "delete the row")
		a.Write()
		s.Tell("reason", "stale")
		if look {
			if seen := a.Read(); seen.Error == guard.ErrMissing.Error() {
				s.Tell("reason", "row-missing")
			}
		}
		a.Release()
		var left int
		s.SQL([]any{&left}, `SELECT count(*) FROM config`)
		s.Prove(a.Last(history.Read).Op != "" && left == 0, "the row was read, and was gone at the write", "%d rows are left", left)
	}
}

func soundTable(s *Stage) {
	s.Tell("sqlstate(null)", s.sqlState(`INSERT INTO config (id, payload, last_fence) VALUES (9, '{}', NULL)`))
	s.Tell("sqlstate(again)", s.sqlState(`INSERT INTO config (id, payload) SELECT id, payload FROM config WHERE id = 0`))
	var before, after int64
	s.SQL([]any{&before}, `SELECT last_fence FROM config WHERE id = 0`)
	a := s.Cast("1")[0]
	a.Acquire()
	a.Read()
	a.Write()
	a.Release()
	s.SQL([]any{&after}, `SELECT last_fence FROM config WHERE id = 0`)
	s.Prove(before == 0 && after == 1, "the number was 0, and is 1 after the write of the first grant", "%d, then %d", before, after)
}

// sqlState is the SQLSTATE with which PostgreSQL refuses a statement; "" if it
// does not.
func (s *Stage) sqlState(sql string) string {
	err := s.ExecSQL(sql)
	var refused *pgconn.PgError
	if err != nil && !errors.As(err, &refused) {
		s.fail(fmt.Errorf("%s: %w", sql, err))
	}
	if refused == nil {
		return ""
	}
	return refused.Code
}

// bothRead: 41 takes the lock, reads and does nothing until its lease is over;
// 42 takes the lock and reads the same. Nobody is stopped.
func bothRead(s *Stage) (older, newer *Actor, ok bool) {
	s.numbered(41)
	cast := s.Cast("41", "42")
	older, newer = cast[0], cast[1]
	older.Acquire()
	older.Read()
	if !s.UntilLeaseEnded(older) || !s.TakesLock(newer) {
		return older, newer, false
	}
	newer.Read()
	first, second := older.Last(history.Acquire), newer.Last(history.Acquire)
	s.Prove(first.Token == 41 && second.Token == 42 && first.Return < second.Call, "the numbers are 41 and 42, the older's the lower", "%d and %d", first.Token, second.Token)
	return older, newer, true
}

func lateByItself(s *Stage) {
	older, newer, ok := bothRead(s)
	if !ok {
		return
	}
	wrote := newer.Write()
	newer.Release()
	var entries int
	var fence int64
	s.SQL([]any{&entries}, `SELECT count(*) FROM journal`)
	s.SQL([]any{&fence}, `SELECT last_fence FROM config WHERE id = 0`)
	s.Prove(entries == 1 && fence == 42 && s.InJournal(wrote.Op), "42 was written, and is kept", "%d entry in the journal, last_fence = %d", entries, fence)
	older.Write()
	older.Release()
	s.TellLast(older, newer)
}

// await is Await for what can be seen without asking anybody.
func (s *Stage) await(what string, cond func() bool) {
	s.Await(what, func(context.Context) bool { return cond() })
}
