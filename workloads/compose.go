package workloads

import (
	"fmt"
	"slices"
	"strings"
)

// habits are those that a composed strategy may have, by name.
var habits = map[string]func(*Strategy){
	"check":         func(s *Strategy) { s.Check = true },
	"renew":         func(s *Strategy) { s.Renew = RenewInside },
	"renew-outside": func(s *Strategy) { s.Renew = RenewOutside },
	"renew-library": func(s *Strategy) { s.Renew = RenewLibrary },
	"ignore":        func(s *Strategy) { s.Ignore = true },
	"retry-old":     func(s *Strategy) { s.RetryOld = true },
	"bypass":        func(s *Strategy) { s.Bypass = &plain },
}

// Compose makes a strategy of a locker ("none" for no lock), a guard and habits,
// by their names. It has no contract.
func Compose(locker, guard string, with ...string) (Strategy, error) {
	name := strings.Join(append([]string{locker, guard}, with...), "+")
	s := Strategy{Name: name, About: strings.ReplaceAll(name, "+", " with ")}
	if locker != "none" {
		l, ok := lockerByName(locker)
		if !ok {
			return s, fmt.Errorf("strategy %s: unknown locker %q", name, locker)
		}
		s.Locker = l
	}
	g, ok := guardByName(guard)
	if !ok {
		return s, fmt.Errorf("strategy %s: unknown guard %q", name, guard)
	}
	s.Guard = g
	for _, habit := range with {
		take, ok := habits[habit]
		if !ok {
			return s, fmt.Errorf("strategy %s: unknown habit %q", name, habit)
		}
		take(&s)
	}
	return s, s.Validate()
}

func guardByName(name string) (GuardKind, bool) {
	i := slices.IndexFunc(Guards, func(g GuardKind) bool { return g.Name == name })
	if i < 0 {
		return GuardKind{}, false
	}
	return Guards[i], true
}

func lockerByName(name string) (LockerKind, bool) {
	i := slices.IndexFunc(Lockers, func(l LockerKind) bool { return l.Name == name })
	if i < 0 {
		return LockerKind{}, false
	}
	return Lockers[i], true
}
