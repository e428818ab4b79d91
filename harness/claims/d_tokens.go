package claims

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/torture-harness/torture/harness"
	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

// claimsOfTokens: what a fencing token is, and what a store does with it.
var claimsOfTokens = slices.Concat(claimsOfNumbers, claimsOfFences, claimsOfStatements, claimsOfRefusals)

var claimsOfNumbers = []Claim{
	{
		ID:   "C27",
		Says: "A fencing token increases with every successful grant.",
		Cases: []Case{
			{About: "100 grants of one key, clients stopped blindly, the leader killed", Strategy: "etcd-fenced",
				Own: &cluster.Spec{Etcd: 3, Postgres: true}, Play: manyGrants,
				Expect: "token-order=holds",
				Breaks: []Break{{About: "the token is the random value", Apply: func(c *Case) {
					c.Strategy, c.Own = "redis-value-token+fence-text", &cluster.Spec{Redis: 1, Etcd: 3, Postgres: true}
				}}}},
		},
	},
	{
		ID:   "C28",
		Says: "The random value says \"is it me\", not \"is it an old generation\"; order needs the number.",
		Cases: []Case{
			{Name: "a", About: "values compared as text, the older holder's is the smaller", Strategy: "redis-value-token+fence-text", TTL: 3 * time.Second, Play: valued("a", "b"),
				Expect: "write(A)=rejected write(B)=ok all4=holds last=B"},
			{Name: "b", About: "the older holder's value is the larger", Strategy: "redis-value-token+fence-text", TTL: 3 * time.Second, Play: valued("b", "a"),
				Expect: "write(A)=ok write(B)=ok token-order=violated all3=violated last=A",
				Breaks: []Break{With("redis-incr-script+fenced")}},
			{Name: "c", About: "the same values, nobody is stopped", Strategy: "redis-value-token+fence-text", Play: inTurn,
				Expect: "write(A)=ok write(B)=rejected token-order=violated progress=violated last=A"},
			{Name: "d", About: "the row is marked with the value at the read, and the write demands the mark", Strategy: "redis-setnx+owner-cas", TTL: 3 * time.Second, Play: marked,
				Expect: "write(A)=rejected write(B)=ok all3=holds last=B"},
		},
	},
	{
		ID:   "C29",
		Says: "Plain SET and Redlock offer no fencing token.",
		Cases: []Case{
			{Name: "a", About: "SET NX PX is asked for its token, and combined with a fence", Strategy: "redis-setnx+plain", Play: tokenless,
				Expect: "token(A)=none token(B)=none with-a-fence=usage-error token-order=not-applicable",
				Breaks: []Break{With("redis-value-token+plain")}},
			{Name: "b", About: "Redlock is asked for its token, and combined with a fence", Strategy: "redlock+plain", Play: tokenless,
				Expect: "token(A)=none token(B)=none with-a-fence=usage-error token-order=not-applicable"},
			{Name: "c", About: "every lock is asked for its token", Strategy: "redis-setnx+plain", Resources: lockerNames(), Play: everyLocker,
				Expect: "token-without-a-word=none word-without-a-token=none token-order=not-applicable"},
		},
	},
}

// manyGrants: four clients update one key in turn; again and again all but one
// are stopped wherever they are, and then the leader of etcd is killed.
func manyGrants(s *Stage) {
	const wanted, blindly = 100, 6
	clients := s.Cast("A", "B", "C", "D")
	acquiring := map[*Actor][]*Doing{}
	var steps []*Doing
	update := func(times int) {
		for _, a := range clients {
			for range times {
				one := a.Begin(workloads.Step{Do: history.Acquire})
				acquiring[a] = append(acquiring[a], one)
				steps = append(steps, one, a.Begin(workloads.Step{Do: history.Read}), a.Begin(workloads.Step{Do: history.Write}), a.Begin(workloads.Step{Do: history.Release}))
			}
		}
	}
	granted := func(to ...*Actor) (n int) {
		for _, a := range to {
			for _, d := range acquiring[a] {
				if d.Ended() {
					n++
				}
			}
		}
		return n
	}
	more := func(n int, to ...*Actor) { // or as many as there are left
		want, all := granted(to...)+n, 0
		for _, a := range to {
			all += len(acquiring[a])
		}
		want = min(want, all)
		s.await(fmt.Sprintf("%d more grants", n), func() bool { return granted(to...) >= want })
	}
	draw := rand.New(rand.NewPCG(uint64(s.run.seed), 27))
	update(20)
	for i := range blindly {
		more(1+draw.IntN(8), clients...)
		goesOn := clients[i%len(clients)]
		for _, a := range clients {
			if a != goesOn {
				s.Stop(a)
			}
		}
		more(3, goesOn) // had one of the others the lock, its lease is over by then
		for _, a := range clients {
			s.Resume(a)
		}
	}
	before := granted(clients...)
	update(4) // meanwhile
	was, is := s.changeLeader()
	changed := history.Now()
	update(4)
	var grants []workloads.Done
	outlived := 0
	for _, d := range steps {
		switch done := d.Wait(); {
		case done.Kind == history.Acquire && done.Outcome == history.OK:
			grants = append(grants, done)
		case done.Kind == history.Release && done.Outcome == history.Lost:
			outlived++
		}
	}
	slices.SortFunc(grants, func(a, b workloads.Done) int { return int(a.Return - b.Return) })
	pairs := 0
	for i := range len(grants) - 1 {
		if grants[i].Return < grants[i+1].Call {
			pairs++
		}
	}
	s.Say("%d grants of one key, %d of which ended before their holder went on", len(grants), outlived)
	s.Prove(pairs >= wanted, "100 pairs of grants, the one before the other", "%d", pairs)
	s.Prove(was != is && before > 0 && changed < grants[len(grants)-1].Call, "another member became the leader between two grants", "%s after %s", is, was)
}

// valued is C9's schedule with these values for the locks of A and B.
func valued(ofA, ofB string) func(*Stage) {
	return func(s *Stage) {
		cast := s.Parts(Part{Name: "A", Value: ofA}, Part{Name: "B", Value: ofB})
		c9Of(s, cast[0], cast[1], 0)
	}
}

// inTurn: A writes and releases, then B, whose value is the smaller.
func inTurn(s *Stage) {
	cast := s.Parts(Part{Name: "A", Value: "b"}, Part{Name: "B", Value: "a"})
	a, b := cast[0], cast[1]
	a.Acquire()
	a.Enter()
	a.Write()
	released := a.Release()
	if !s.TakesOver(b) {
		return
	}
	s.Prove(released.Return < b.Last(history.Acquire).Call, "B's grant is the newest", "it was asked for %.3f s after A had released", seconds(b.Last(history.Acquire).Call-released.Return))
	s.TellLast(a, b)
}

// marked is C9's schedule, in which both mark the row when they read it.
func marked(s *Stage) {
	cast := s.Cast("A", "B")
	a, b := cast[0], cast[1]
	if !c9Of(s, a, b, 0) {
		return
	}
	s.Prove(b.Last(history.Claim).Return < a.Last(history.Write).Call, "B marked the row before A wrote",
		"%.2f s before", seconds(a.Last(history.Write).Call-b.Last(history.Claim).Return))
}

// tokenless: two clients hold the lock one after the other, and say what token
// they were given.
func tokenless(s *Stage) {
	for _, a := range s.Cast("A", "B") {
		got := a.Acquire()
		a.Read()
		a.Write()
		a.Release()
		s.Prove(got.Outcome == history.OK, a.Name+" was granted the lock", "%s", got.Op)
		s.Tell("token("+a.Name+")", "none")
		if got.Token != 0 {
			s.Tell("token("+a.Name+")", fmt.Sprint(got.Token))
		}
	}
	s.Tell("with-a-fence", combined(s.strategy.Locker.Name, "fenced"))
}

// combined is what becomes of a locker and a guard that somebody asks for.
func combined(locker, guard string) string {
	_, err := workloads.Compose(locker, guard)
	plan := harness.Plan{Strategies: []string{locker + "+" + guard}}
	plan.Defaults()
	switch {
	case err == nil:
		return "accepted"
	case errors.As(plan.Validate(), &harness.Usage{}):
		return "usage-error"
	default:
		return "error"
	}
}

func lockerNames() []string {
	var names []string
	for _, l := range workloads.Lockers {
		names = append(names, l.Name)
	}
	return names
}

// everyLocker has every kind of lock granted once, on a resource of its own, and
// compares what it gives with what it says of itself.
func everyLocker(s *Stage) {
	var silent, empty []string
	for _, l := range workloads.Lockers {
		a := s.Parts(Part{Name: l.Name, Strategy: l.Name + "+plain", Resource: l.Name})[0]
		got := a.Acquire()
		if l.Draws {
			got = a.Draw()
		}
		a.Release()
		switch {
		case got.Token != 0 && !l.Tokens:
			silent = append(silent, l.Name)
		case got.Token == 0 && l.Tokens:
			empty = append(empty, l.Name)
		}
		s.Prove(got.Outcome == history.OK, l.Name+" was granted", "%s", got.Op)
		s.retire(a)
	}
	s.Tell("token-without-a-word", orNone(silent))
	s.Tell("word-without-a-token", orNone(empty))
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ",")
}

// retire ends the process of an actor who has no more to do.
func (s *Stage) retire(a *Actor) {
	ctx, cancel := s.Context()
	defer cancel()
	s.must(a.finish(ctx), "end "+a.Name)
}

// changeLeader kills the leader of the case's own etcd, waits until another
// member leads, and starts it again.
func (s *Stage) changeLeader() (was, is string) {
	leader, term := s.leader(0)
	restart := s.KillServer(leader)
	next, _ := s.leader(term)
	s.Say("the leader of etcd was killed")
	restart()
	return leader.Name, next.Name
}
