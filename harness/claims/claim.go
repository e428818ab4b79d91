// Package claims puts every statement about locks, leases and fencing tokens to
// the test: each is a short script of actors on real servers, with what must
// come out. A script first proves that its situation occurred; it waits for
// events, never for times.
package claims

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/torture-harness/torture/harness/cluster"
)

// Claim is one statement, shown by one or more cases.
type Claim struct {
	ID    string // C9
	Says  string // the statement, one sentence
	Cases []Case
}

// Case is one script with what must come out of it.
type Case struct {
	Name     string // a; "" if it is the only one
	About    string // what happens, a few words
	Strategy string // of every actor unless it says otherwise: a preset, or locker+guard
	TTL      time.Duration
	// Resources are the shared rows, each with its lock; "r" if none is named.
	Resources []string
	// Own are servers of the case's own, because it disturbs them.
	Own *cluster.Spec
	// Tables is DDL after that of the guard, for a table that is not as it should be.
	Tables string
	// Resends: an actor writes again under a grant whose last write's fate is unknown.
	Resends bool
	// Play is the script.
	Play func(*Stage)
	// Expect is what must come out: verdicts (stale-overwrite=violated,
	// all4=holds, only rmw-atomic=violated), outcomes (write(A)=rejected) and
	// whatever else the script tells (no handover, holders=1).
	Expect string
	// Breaks change what the claim rests on; each must turn the row.
	Breaks []Break
}

// Break is a change of the thing claimed, after which the claim must fail.
type Break struct {
	About string // "the guard is version"
	Apply func(*Case)
}

// With is a break that takes another strategy.
func With(strategy string) Break {
	return Break{About: "the strategy is " + strategy, Apply: func(c *Case) { c.Strategy = strategy }}
}

// Play is a break that plays another script.
func Play(about string, play func(*Stage)) Break {
	return Break{About: about, Apply: func(c *Case) { c.Play = play }}
}

// All lists every claim, group by group.
func All() []Claim {
	return slices.Concat(groupA, groupB, groupC, groupD, groupE)
}

// Find finds claims by their ids, in the order of All; all of them without ids.
func Find(ids []string) ([]Claim, error) {
	if len(ids) == 0 {
		return All(), nil
	}
	wanted := map[string]bool{}
	for _, id := range ids {
		wanted[strings.ToUpper(id)] = true
	}
	var found []Claim
	for _, c := range All() {
		if wanted[strings.ToUpper(c.ID)] {
			found = append(found, c)
			delete(wanted, strings.ToUpper(c.ID))
		}
	}
	for _, id := range ids {
		if wanted[strings.ToUpper(id)] {
			return nil, fmt.Errorf("unknown claim %q; `torture claims --list` shows all of them", id)
		}
	}
	return found, nil
}
