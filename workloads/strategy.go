// Package workloads is what clients do: the update of a shared config under a
// lock, and the strategies, each with the contract it is held to.
package workloads

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/workloads/guard"
	"github.com/torture-harness/torture/workloads/lock"
	"github.com/torture-harness/torture/workloads/point"
)

// Needs says which servers a strategy uses, besides PostgreSQL.
type Needs struct {
	Redis    int // independent masters
	Etcd     bool
	Sessions bool // of PostgreSQL, one for each lock besides the client's own
}

// Places is where the servers are.
type Places struct {
	Redis    []lock.Server `json:"redis,omitempty"`
	Etcd     []string      `json:"etcd,omitempty"`
	Postgres string        `json:"postgres"`         // connection string, with search_path
	Keeper   string        `json:"keeper,omitempty"` // host:port of a process that keeps numbers in its memory
}

// LockerKind is one way to take a lock, by name.
type LockerKind struct {
	Name    string
	About   string
	LeaseBy string // whose clock ends the lease: redis, etcd; "" if nothing ends it
	Tokens  bool
	Values  bool // the random value of the holding is the token, to be compared as text
	Draws   bool // the token is drawn after the lock was taken: the locker is a lock.Tokener
	Renews  bool // a lease can be prolonged: the locker is a lock.Renewer
	Needs   Needs
	New     func(Places, LockerOptions) (lock.Locker, error)
}

// LockerOptions is what a locker is made with.
type LockerOptions struct {
	Prefix   string        // of all keys, unique to the cell
	TTL      time.Duration // the lease asked for
	Patience time.Duration // the deadline of one request, longer than any pause
	Clients  int           // how many use the locker at once
	Value    string        // of every attempt, for lockers that do not draw it afresh; "" is one drawn once for this locker
	PerNode  time.Duration // how long one of several nodes may take, more than any pause inside an acquisition; 0 is the locker's own choice
	Jitter   *lock.Jitter
}

// GuardKind is one way to accept a write, by name.
type GuardKind struct {
	Name   string
	About  string
	Tokens bool // it compares tokens, so the locker must give them
	Values bool // it compares random values of holdings as text
	Owner  bool // it marks the row with the holding's value, so there must be a lock
	Claims bool // Enter raises the fence
	Two    bool // it compares in one statement and writes in the next, between which it can be held
	Needs  Needs
	Guard  guard.Guard
	New    func(Places) (guard.Guard, error) // instead of Guard, if it asks other servers too
}

// RenewBy is who prolongs a lease while its holder works.
type RenewBy string

// The renewals. They come every TTL/3.
const (
	RenewNever   RenewBy = ""
	RenewInside  RenewBy = "inside"  // a goroutine of the holder's process, stopped with it
	RenewLibrary RenewBy = "library" // the locker's library, in the same process
	RenewOutside RenewBy = "outside" // a process of its own, which goes on whatever happens to the holder
)

// Strategy is a locker and a guard, with a contract per fault.
type Strategy struct {
	Name     string
	About    string
	Locker   LockerKind // the zero value is no lock
	Guard    GuardKind
	Extra    bool // compared only when asked for
	Check    bool // ask the lock's server once more before each write
	Renew    RenewBy
	Ignore   bool       // write although the lease is known to be lost
	RetryOld bool       // after a refusal, acquire again and resubmit the old content
	Bypass   *GuardKind // a second entry, used by every other write
	Contract func(fault string) checkers.Contract
}

// Needs are the servers of its lock and of its guard.
func (s Strategy) Needs() Needs {
	l, g := s.Locker.Needs, s.Guard.Needs
	return Needs{Redis: max(l.Redis, g.Redis), Etcd: l.Etcd || g.Etcd, Sessions: l.Sessions || g.Sessions}
}

// Locked reports whether it takes a lock at all.
func (s Strategy) Locked() bool { return s.Locker.Name != "" }

// ContractUnder is what it is held to under a fault: its contract less what
// cannot apply, exclusion without a lock or an order without tokens.
func (s Strategy) ContractUnder(fault string) checkers.Contract {
	c := s.Contract(fault)
	if !s.Locked() {
		delete(c, checkers.LeaseExclusion)
	}
	if !s.Locker.Tokens {
		delete(c, checkers.TokenOrder)
	}
	return c
}

// Point is where a holder is stopped to do the most harm: after the last thing
// it does before its write is sent.
func (s Strategy) Point() string {
	switch {
	case s.Guard.Two:
		return point.Between
	case s.Locker.Draws:
		return BeforeToken
	case s.looks():
		return AfterCheck
	default:
		return AfterRead
	}
}

// Validate refuses combinations that cannot mean anything.
func (s Strategy) Validate() error {
	refuse := func(why string) error {
		return fmt.Errorf("strategy %s: the guard %s %s", s.Name, s.Guard.Name, fmt.Sprintf(why, orNone(s.Locker.Name)))
	}
	switch {
	case s.Guard.Tokens && !s.Locker.Tokens:
		return refuse("compares fencing tokens, and the locker %s gives none; take a locker with tokens (etcd)")
	case s.Guard.Values && !s.Locker.Values:
		return refuse("compares values of holdings as text, and those of the locker %s are no tokens; take redis-value-token")
	case s.Guard.Owner && !s.Locked():
		return refuse("marks the row with the value of a holding, and the locker is %s; take one")
	case s.Check && !s.Locked():
		return fmt.Errorf("strategy %s: without a lock there is nothing to check", s.Name)
	case (s.Renew == RenewInside || s.Renew == RenewOutside) && !s.Locker.Renews:
		return fmt.Errorf("strategy %s: the locker %s has no lease to renew", s.Name, orNone(s.Locker.Name))
	}
	return nil
}

func orNone(name string) string {
	if name == "" {
		return "none"
	}
	return name
}

// Find is a strategy by name, or one composed of a locker, a guard and habits
// ("etcd+version", "redis-setnx+plain+renew+ignore").
func Find(name string) (Strategy, error) {
	if parts := strings.Split(name, "+"); len(parts) > 1 {
		return Compose(parts[0], parts[1], parts[2:]...)
	}
	found, err := Lookup([]string{name})
	if err != nil {
		return Strategy{}, err
	}
	return found[0], nil
}

// Lookup finds strategies by name.
func Lookup(names []string) ([]Strategy, error) {
	var found []Strategy
	for _, name := range names {
		s, ok := byName(name)
		if !ok {
			return nil, fmt.Errorf("unknown strategy %q; known are: %s", name, strings.Join(Names(), ", "))
		}
		found = append(found, s)
	}
	return found, nil
}

// Defaults lists the strategies that are compared unless others are asked for.
func Defaults() []string {
	var names []string
	for _, s := range Strategies {
		if !s.Extra {
			names = append(names, s.Name)
		}
	}
	return names
}

// Names lists the strategies, without those that are planted.
func Names() []string {
	var names []string
	for _, s := range Strategies {
		names = append(names, s.Name)
	}
	return names
}

func byName(name string) (Strategy, bool) {
	for _, s := range slices.Concat(Strategies, Planted) {
		if s.Name == name {
			return s, true
		}
	}
	return Strategy{}, false
}
