package claims

import (
	"fmt"
	"slices"
	"strings"

	"github.com/torture-harness/torture/checkers"
)

// wish is one thing that must come out: a verdict, an outcome, an observation.
type wish struct {
	what string // a property, write(A), no handover
	want string // holds, violated, rejected; "" for an observation without a value
}

func (w wish) String() string {
	if w.want == "" {
		return w.what
	}
	return w.what + "=" + w.want
}

var (
	all3 = []checkers.Property{checkers.StaleOverwrite, checkers.FenceOrder, checkers.RMWAtomic}
	all4 = append([]checkers.Property{checkers.LeaseExclusion}, all3...)
	// must hold unless something else is said.
	unnamed = []checkers.Property{checkers.Register, checkers.Durability, checkers.Progress, checkers.LeaseExclusion, checkers.TokenOrder}
)

// noHandover is the observation that a lease did not end while its holder was
// stopped. It must be named where it may be seen.
const noHandover = "no handover"

// parse reads an expectation. What it does not name is added: see unnamed.
func parse(expect string) ([]wish, error) {
	var wishes []wish
	set := func(property checkers.Property, verdict string) {
		for i, w := range wishes {
			if w.what == string(property) {
				wishes[i].want = verdict
				return
			}
		}
		wishes = append(wishes, wish{string(property), verdict})
	}
	words := strings.Fields(strings.ReplaceAll(expect, noHandover, "no_handover"))
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word == "no_handover" {
			wishes = append(wishes, wish{what: noHandover})
			continue
		}
		if word == "only" { // only a, b=violated
			names := ""
			for i++; i < len(words); i++ {
				names += words[i]
				if strings.Contains(words[i], "=") {
					break
				}
			}
			list, verdict, ok := strings.Cut(names, "=")
			if !ok {
				return nil, fmt.Errorf("%q: only what?", expect)
			}
			for _, p := range all4 {
				set(p, string(checkers.Holds))
			}
			for _, name := range strings.Split(list, ",") {
				if !slices.Contains(all4, checkers.Property(name)) {
					return nil, fmt.Errorf("%q: only %q is not one of %v", expect, name, all4)
				}
				set(checkers.Property(name), verdict)
			}
			continue
		}
		what, want, ok := strings.Cut(word, "=")
		if !ok {
			return nil, fmt.Errorf("%q: %q has no value", expect, word)
		}
		switch {
		case what == "all3" || what == "all4":
			for _, p := range map[string][]checkers.Property{"all3": all3, "all4": all4}[what] {
				set(p, want)
			}
		case slices.Contains(checkers.Properties, checkers.Property(what)):
			set(checkers.Property(what), want)
		default:
			wishes = append(wishes, wish{what, want})
		}
	}
	for _, p := range unnamed {
		if !slices.ContainsFunc(wishes, func(w wish) bool { return w.what == string(p) }) {
			set(p, string(checkers.Holds))
		}
	}
	return wishes, nil
}
