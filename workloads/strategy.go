// Package workloads is what clients do: the update of a shared config under a
// lock, and the strategies, each with the contract it is held to.
package workloads

import (
	"fmt"
	"strings"
	"time"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/workloads/guard"
	"github.com/torture-harness/torture/workloads/lock"
)

// Needs says which servers a strategy uses, besides PostgreSQL.
type Needs struct {
	Redis int // independent masters
	Etcd  bool
}

// Places is where the servers are.
type Places struct {
	Redis    []lock.Server `json:"redis,omitempty"`
	Etcd     []string      `json:"etcd,omitempty"`
	Postgres string        `json:"postgres"` // connection string, with search_path
}

// LockerKind is one way to take a lock, by name.
type LockerKind struct {
	Name    string
	About   string
	LeaseBy string // whose clock ends the lease: redis, etcd
	Tokens  bool
	Needs   Needs
	New     func(Places, LockerOptions) (lock.Locker, error)
}

// LockerOptions is what a locker is made with.
type LockerOptions struct {
	Prefix   string        // of all keys, unique to the cell
	TTL      time.Duration // the lease asked for
	Patience time.Duration // the deadline of one request, longer than any pause
	Clients  int           // how many use the locker at once
	Jitter   *lock.Jitter
}

// GuardKind is one way to accept a write, by name.
type GuardKind struct {
	Name   string
	About  string
	Tokens bool // it compares tokens, so the locker must give them
	Claims bool // Enter raises the fence
	Guard  guard.Guard
}

// Strategy is a locker and a guard, with a contract per fault.
type Strategy struct {
	Name     string
	About    string
	Locker   LockerKind // the zero value is no lock
	Guard    GuardKind
	Extra    bool // compared only when asked for
	Check    bool // ask the lock's server once more before each write
	Contract func(fault string) checkers.Contract
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
	if s.Check {
		return AfterCheck
	}
	return AfterRead
}

// Validate refuses combinations that cannot mean anything.
func (s Strategy) Validate() error {
	if s.Guard.Tokens && !s.Locker.Tokens {
		return fmt.Errorf("strategy %s: the guard %s compares fencing tokens, and the locker %s gives none; take a locker with tokens (etcd)",
			s.Name, s.Guard.Name, orNone(s.Locker.Name))
	}
	return nil
}

func orNone(name string) string {
	if name == "" {
		return "none"
	}
	return name
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

// Names lists the strategies.
func Names() []string {
	var names []string
	for _, s := range Strategies {
		names = append(names, s.Name)
	}
	return names
}

func byName(name string) (Strategy, bool) {
	for _, s := range Strategies {
		if s.Name == name {
			return s, true
		}
	}
	return Strategy{}, false
}
