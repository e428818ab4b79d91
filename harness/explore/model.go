package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

// Model is what we believe a strategy's lock and store do: a key with an owner
// and a row with a fence. It knows no time: a lease ends when its holder is
// stopped and somebody else wants the lock. Where real servers do anything else,
// either this is wrong or they have surprised us.
type Model struct {
	guard  guardRule
	locked bool
	tokens bool // the locker gives them with the grant
	blind  bool // its release removes whatever key is there
	ignore bool // it writes although it knows that its lease is lost
}

// guardRule is when the store accepts a write.
type guardRule int

const (
	always  guardRule = iota
	fence             // nobody with a larger token has written, nor this holder
	claimed           // nobody has claimed since this holder did
	version           // nobody has written since this client read
)

// What the model knows of lockers and guards, by name. A guard that is meant to
// be another stands for it: what it does differently will be seen.
var (
	lockRules = map[string]struct{ blind bool }{
		"": {}, "redis-setnx": {}, "redis-setnx-del": {blind: true}, "redis-incr": {}, "redis-incr-script": {}, "redislock": {},
		"redlock": {}, "redsync": {}, "etcd": {},
	}
	guardRules = map[string]guardRule{
		"plain": always, "idempotency": always, "fenced": fence, "fence-trigger": fence, "fence-first": fence, "claim": claimed, "version": version,
	}
)

// ModelOf is the model of a strategy. There is none of lockers, guards and habits
// whose end of a lease or whose answers depend on more than the order of steps.
func ModelOf(s workloads.Strategy) (Model, error) {
	lock, known := lockRules[s.Locker.Name]
	if !known {
		return Model{}, fmt.Errorf("strategy %s: explore has no model of the locker %s; it knows %s", s.Name, s.Locker.Name, names(lockRules))
	}
	guard, known := guardRules[s.Guard.Name]
	if !known {
		return Model{}, fmt.Errorf("strategy %s: explore has no model of the guard %s; it knows %s", s.Name, s.Guard.Name, names(guardRules))
	}
	switch {
	case s.Renew == workloads.RenewOutside || s.Renew == workloads.RenewLibrary:
		return Model{}, fmt.Errorf("strategy %s: explore has no model of leases that are renewed while their holder is stopped", s.Name)
	case s.RetryOld:
		return Model{}, fmt.Errorf("strategy %s: explore has no model of clients that write again after a refusal", s.Name)
	case s.Bypass != nil:
		return Model{}, fmt.Errorf("strategy %s: explore has no model of clients that choose their entry by chance", s.Name)
	}
	return Model{guard: guard, locked: s.Locked(), tokens: s.Locker.Tokens && !s.Locker.Draws, blind: lock.blind, ignore: s.Ignore}, nil
}

func names[V any](m map[string]V) string {
	var out []string
	for name := range m {
		if name != "" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// Skipped is the outcome of a step that a client leaves out, for it has been told
// that its time is over.
const Skipped history.Outcome = "skipped"

// Beat is a move with what must be done for it and what must come of it.
type Beat struct {
	Move
	// Stop is the client that holds the lock which is wanted: it is stopped until
	// its lease has ended. -1 for nobody.
	Stop int
	// After is what the stopped client had done last; Flying, that its write was
	// held in the network.
	After   history.Kind
	Flying  bool
	Outcome history.Outcome // "" of a write that was only sent
	Saw     string          // of a read or claim: whose write, or history.InitialWrite
}

// Forecast is a whole schedule as the model sees it.
type Forecast struct {
	Beats    []Beat
	Violated map[checkers.Property]bool
	Refused  bool // a late client was refused, by the store or by the lock
}

// person is a client in the model.
type person struct {
	rank   int // of its grant, or without a lock of its read: larger is newer
	token  int
	basis  string
	seen   int // version of the row
	over   bool
	last   history.Kind
	flying bool
}

// write is one that the model's store has accepted.
type write struct {
	by    int
	rank  int
	basis string
}

// Forecast says what must come of a schedule.
func (m Model) Forecast(moves []Move) Forecast {
	w := &world{Model: m, holder: -1, current: history.InitialWrite, people: make([]person, Clients(moves))}
	out := Forecast{Violated: map[checkers.Property]bool{}}
	for _, move := range moves {
		out.Beats = append(out.Beats, w.move(move))
	}
	w.judge(&out)
	return out
}

// world is the lock and the row while a schedule goes on.
type world struct {
	Model
	holder  int // whose lease lasts, -1
	ranks   int
	tokens  int
	current string
	fence   int
	version int
	people  []person
	log     []write
	stolen  bool // a live lock was removed
	refused bool
}

func (w *world) move(m Move) Beat {
	b := Beat{Move: m, Stop: -1}
	p := &w.people[m.Client]
	if p.over && m.Do != history.Release {
		b.Outcome = Skipped
		return b
	}
	switch m.Do {
	case history.Acquire:
		if h := w.holder; h >= 0 {
			b.Stop, b.After, b.Flying = h, w.people[h].last, w.people[h].flying
		}
		w.holder = m.Client
		p.rank = w.next()
		w.tokens++
		if w.Model.tokens {
			p.token = w.tokens
		}
		b.Outcome = history.OK
	case history.Draw:
		w.tokens++
		p.token = w.tokens
		b.Outcome = history.OK
	case history.Read:
		b.Outcome = history.OK
		w.see(p, &b)
	case history.Claim:
		b.Outcome = history.Rejected
		if w.fence < p.token {
			w.fence = p.token
			b.Outcome = history.OK
			w.see(p, &b)
		}
	case history.Check, history.Renew:
		b.Outcome = history.OK
		if w.holder != m.Client {
			b.Outcome = history.Lost
		}
	case history.Write:
		if p.flying = m.Phase == Sent; p.flying {
			return b
		}
		b.Outcome = w.write(m.Client, p)
	case history.Release:
		b.Outcome = w.release(m.Client)
	}
	switch b.Outcome {
	case history.Rejected:
		p.over, w.refused = true, true
	case history.Lost:
		if m.Do != history.Release {
			p.over, w.refused = !w.ignore, w.refused || !w.ignore
		}
	}
	p.last = m.Do
	return b
}

func (w *world) next() int {
	w.ranks++
	return w.ranks
}

func (w *world) see(p *person, b *Beat) {
	p.basis, p.seen, b.Saw = w.current, w.version, w.current
	if !w.locked {
		p.rank = w.next()
	}
}

func (w *world) write(client int, p *person) history.Outcome {
	switch {
	case w.guard == fence && p.token <= w.fence,
		w.guard == claimed && p.token != w.fence,
		w.guard == version && p.seen != w.version:
		return history.Rejected
	}
	if w.guard == fence {
		w.fence = p.token
	}
	w.log = append(w.log, write{client, p.rank, p.basis})
	w.version++
	w.current = Name(client)
	return history.OK
}

func (w *world) release(client int) history.Outcome {
	switch {
	case w.holder == client:
		w.holder = -1
		return history.OK
	case w.blind && w.holder >= 0:
		w.holder, w.stolen = -1, true
		return history.OK
	}
	return history.Lost
}

// judge applies the predicates of the properties along the order in which the
// writes were accepted.
func (w *world) judge(out *Forecast) {
	out.Refused = w.refused
	out.Violated[checkers.LeaseExclusion] = w.stolen
	current, newest := history.InitialWrite, 0
	for _, one := range w.log {
		late, blind := one.rank < newest, one.basis != current
		for property, broken := range map[checkers.Property]bool{
			checkers.StaleOverwrite: late && blind, checkers.FenceOrder: late, checkers.RMWAtomic: blind,
		} {
			out.Violated[property] = out.Violated[property] || broken
		}
		current, newest = Name(one.by), max(newest, one.rank)
	}
}
