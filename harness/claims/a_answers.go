package claims

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/wire"
	"github.com/torture-harness/torture/workloads"
)

// claimsOfAnswers: what an answer says, what silence says, and what nobody asks.
var claimsOfAnswers = []Claim{
	{
		ID:   "C5",
		Says: "A enters the update only after a success reply.",
		Cases: []Case{
			{Name: "a", About: "the answer is lost: nothing is known, and the attempt is undone", Strategy: "redis-setnx+plain", TTL: 2 * time.Second, Play: c5Unknown,
				Expect: "acquire(A)=info undone=yes again(A)=ok all4=holds",
				Breaks: []Break{With("redis-setnx-silence-yes+plain")}},
			{Name: "b", About: "the answer was no, and silence is taken for yes", Strategy: "redis-setnx-silence-yes+plain", TTL: 3 * time.Second, Play: c5Yes,
				Expect: "acquire(A)=ok all4=violated"},
			{Name: "c", About: "the answer was yes, and silence is taken for no", Strategy: "redis-setnx-silence-no+plain", TTL: 2 * time.Second, Play: c5No,
				Expect: "acquire(A)=fail key=A's orphan=expired sets=1 all4=holds"},
			{Name: "d", About: "the answer was yes, and the library asks again", Strategy: "redis-setnx-retried+plain", TTL: 2 * time.Second, Play: c5No,
				Expect: "acquire(A)=fail key=A's orphan=expired sets=2 all4=holds"},
		},
	},
	{
		ID:   "C8",
		Says: "The store checks only credentials and business conditions; the end of the right does not become a refusal.",
		Cases: []Case{
			{Name: "a", About: "a write without any lock, while another holds it", Strategy: "redis-setnx+plain", TTL: 3 * time.Second, Play: c8,
				Expect: "write(W)=ok all3=violated",
				Breaks: []Break{With("redis-setnx+version")}},
			{Name: "b", About: "the control: a wrong password", Strategy: "redis-setnx+plain", TTL: 3 * time.Second, Play: c8Password,
				Expect: "write(W)=fail refusal=28P01 all4=holds"},
			{Name: "c", About: "the control: a business condition", Strategy: "redis-setnx+plain", TTL: 3 * time.Second, Play: c8,
				Tables: `ALTER TABLE config ADD CONSTRAINT business CHECK (payload->'fields'->'W' IS NULL)`,
				Expect: "write(W)=fail refusal=23514 all4=holds"},
		},
	},
}

// loseAnswer has A make one attempt, whose answer is cut on its way back.
func (s *Stage) loseAnswer(a *Actor) workloads.Done {
	proxy := a.Wires.Redis[0]
	proxy.HoldRequests(wire.Containing(s.Key(a.Resource)))
	d := a.Begin(workloads.Step{Do: history.Acquire, Tries: 1})
	ctx, cancel := s.Context()
	defer cancel()
	conns, err := proxy.AwaitHeld(ctx, 1)
	if err != nil {
		s.impossible("%v", err)
	}
	before := conns[0].Stats().Replies
	proxy.CutReplies(wire.Only(conns...))
	proxy.Release()
	done := d.Wait()
	after := conns[0].Stats()
	proxy.Heal()
	s.Prove(after.ReplyCut && after.Replies == before, "A read no byte of the answer", "%d bytes of it were dropped", after.Dropped)
	s.Say("the answer to A's SET was lost; A took it for: %s", done.Outcome)
	return done
}

// sets are the values that were to be set for the lock, in their order.
func (m *Monitor) sets(key string) []string {
	m.Sync()
	var values []string
	for _, line := range m.Lines(command("SET", key)) {
		_, rest, _ := strings.Cut(line, command("SET", key)+" \"")
		value, _, _ := strings.Cut(rest, `"`)
		values = append(values, value)
	}
	return values
}

func c5Unknown(s *Stage) {
	parts := s.Parts(Part{Name: "A", Wired: true}, Part{Name: "B"})
	a, b := parts[0], parts[1]
	m := s.Monitor(0)
	first := s.loseAnswer(a)
	key := s.Key(a.Resource)
	sets := m.sets(key)
	s.Prove(len(sets) == 1, "the SET was executed", "MONITOR shows %d", len(sets))
	deleted := len(m.Lines("lua] " + command("DEL", key)))
	s.Tell("undone", map[bool]string{true: "yes", false: "no"}[deleted == 1])
	if first.Outcome != history.OK { // or it takes what it never heard for a grant
		s.Tell("again(A)", string(a.Acquire().Outcome))
		sets = m.sets(key)
		s.Prove(len(sets) >= 2 && sets[0] != sets[len(sets)-1], "the next attempt had a value of its own", "%d values", len(sets))
	} else {
		s.Tell("again(A)", "none")
	}
	s.Tell("acquire(A)", string(first.Outcome))
	a.Read()
	a.Write()
	a.Release()
	s.TakesOver(b)
}

func c5Yes(s *Stage) {
	parts := s.Parts(Part{Name: "A", Wired: true}, Part{Name: "B"})
	a, b := parts[0], parts[1]
	b.Acquire()
	b.Read()
	m := s.Monitor(0)
	s.loseAnswer(a)
	sets, k := m.sets(s.Key(a.Resource)), s.lookNow(s.Key(b.Resource))
	s.Prove(len(sets) == 1 && k.value == b.Lease().Value, "A's SET was executed and refused: the key has B's value", "MONITOR shows %d; %v left", len(sets), k.left)
	a.Read()
	a.Write()
	b.Write()
	b.Release()
	a.Release()
}

func c5No(s *Stage) {
	parts := s.Parts(Part{Name: "A", Wired: true}, Part{Name: "B"})
	a, b := parts[0], parts[1]
	m := s.Monitor(0)
	s.loseAnswer(a)
	sets, k := m.sets(s.Key(a.Resource)), s.lookNow(s.Key(a.Resource))
	s.Prove(len(sets) > 0, "the SET was executed", "MONITOR shows it %d times", len(sets))
	key := "gone"
	if k.there() && len(sets) > 0 && k.value == sets[0] {
		key = "A's"
	}
	s.Tell("key", key)
	s.Tell("sets", fmt.Sprint(len(sets)))
	if !s.TakesOver(b) {
		return
	}
	s.tellOrphan(k, b)
}

// tellOrphan tells how a key ended that nobody believed to hold: whether b,
// who wanted the lock meanwhile, got it only at the end of its lease.
func (s *Stage) tellOrphan(k keyState, b *Actor) {
	got := b.Last(history.Acquire)
	switch {
	case !k.there():
		s.Tell("orphan", "none")
	case got.Return < k.until()-checkers.RedisSlack:
		s.Tell("orphan", "deleted")
	default:
		s.Tell("orphan", "expired")
		s.Say("a key that nobody believed to hold kept B waiting for %.2f leases", float64(got.Return-k.at)/float64(s.TTL))
	}
}

// c8: W has no lock, and is let through to the store all the same.
func c8(s *Stage) {
	parts := s.Parts(Part{Name: "W", Strategy: "none+" + s.strategy.Guard.Name}, Part{Name: "B"})
	w, b := parts[0], parts[1]
	read := w.Read()
	s.holdsAndWrites(b)
	s.Prove(read.Return < b.Last(history.Acquire).Call, "W had read before B asked for the lock", "%.3f s before", seconds(b.Last(history.Acquire).Call-read.Return))
	s.writesUnlocked(w, b)
	b.Release()
}

func (s *Stage) holdsAndWrites(b *Actor) {
	b.Acquire()
	b.Read()
	b.Write()
}

// writesUnlocked has w write while b holds the lock, as a look before and one
// after it show.
func (s *Stage) writesUnlocked(w, b *Actor) {
	key := s.Key(b.Resource)
	before := s.lookNow(key)
	wrote := w.Write()
	after := s.lookNow(key)
	s.Prove(before.value == b.Lease().Value && after.value == before.value, "B had the lock before and after W's write", "with %v left", after.left)
	for _, code := range []string{"28P01", "23514"} {
		if strings.Contains(wrote.Error, code) {
			s.Tell("refusal", code)
		}
	}
	s.Say("W, without a lock, wrote: %s", wrote.Outcome)
}

// c8Password: W's account gets another password while it works, and its session
// is ended, so that it has to log in again for its write.
func c8Password(s *Stage) {
	role := s.name + "_w"
	place, err := url.Parse(s.Servers.Places.Postgres)
	s.must(err, "connection string")
	place.User = url.UserPassword(role, "right")
	s.must(s.ExecSQL(fmt.Sprintf(`CREATE ROLE %[1]q LOGIN PASSWORD 'right'; GRANT USAGE ON SCHEMA %[2]q TO %[1]q; GRANT SELECT, UPDATE ON config TO %[1]q`, role, s.name)), "make an account")
	s.Heal(func() { _ = s.ExecSQL(fmt.Sprintf(`DROP OWNED BY %[1]q; DROP ROLE %[1]q`, role)) })
	parts := s.Parts(Part{Name: "W", Strategy: "none+plain", Database: place.String()}, Part{Name: "B"})
	w, b := parts[0], parts[1]
	w.Read()
	s.holdsAndWrites(b)
	var ended bool
	s.must(s.ExecSQL(fmt.Sprintf(`ALTER ROLE %q PASSWORD 'another'`, role)), "change the password")
	s.SQL([]any{&ended}, `SELECT coalesce(bool_and(pg_terminate_backend(pid)), false) FROM pg_stat_activity WHERE application_name = $1`, w.Connection())
	s.Prove(ended, "W's session was ended", "%s", w.Connection())
	w.Read() // it notices
	s.writesUnlocked(w, b)
	b.Release()
}
