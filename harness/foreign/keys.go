package foreign

import "strings"

// keying tells a history of independent keys, where every value is a vector
// [key value] (jepsen.independent), from one without. As text, Jepsen's tuple
// looks like any vector of two. But a value of ours is never a vector, or is one
// of exactly two values which are no vectors; so the first invocation decides,
// and all others must be like it.
//
// JSON lines have a field for the key, so a vector is none there.
type keying struct {
	tuples bool     // a vector may be a key with its value
	first  Position // of the event that has decided
	known  bool
	hasKey bool
}

// split takes the key off the value of an event.
func (k *keying) split(a *assembly, e event) (key string, value Value, err error) {
	value = e.value
	hasKey := false
	if e.key != nil {
		key, hasKey = e.key.String(), true
	} else if first, second, pair := tuple(value).Pair(); pair && k.tuples {
		_, _, inner := second.Pair()
		tagged := value.Kind == Tagged
		if hasKey = tagged || a.payloads[e.f] == One || inner; hasKey {
			key, value = first.String(), second
		}
	}
	switch {
	case !k.known:
		k.known, k.hasKey, k.first = true, hasKey, e.at
	case k.hasKey && !hasKey:
		return "", value, a.damage(e.at, "expected a value [key value] as in line %d, found %s", k.first.Line, shown(value.String()))
	case !k.hasKey && hasKey:
		return "", value, a.damage(e.at, "expected a value without a key as in line %d, found %s", k.first.Line, shown(e.value.String()))
	}
	if hasKey && key == "" {
		key = `""` // not a key of ours, but a key
	}
	at := value.Position
	if at.Line == 0 {
		at = e.at
	}
	// An invocation may come without what only its completion knows.
	switch pair := a.payloads[e.f] == Two; {
	case value.Kind == Nil && e.kind == "invoke" && !pair:
	case pair:
		x, y, ok := value.Pair()
		if !ok || x.Kind == Vector || y.Kind == Vector {
			return "", value, a.damage(at, "expected a vector of two values for the %s, found %s", e.f, shown(value.String()))
		}
	case value.Kind == Vector:
		return "", value, a.damage(at, "expected one value for the %s, found %s", e.f, shown(value.String()))
	}
	return key, value, nil
}

// tuple is a key with its value, however it was tagged when it was printed:
// #jepsen.independent/tuple, #jepsen.independent.Tuple, #clojure.lang.MapEntry.
func tuple(v Value) Value {
	if v.Kind != Tagged {
		return v
	}
	name := v.Text[strings.LastIndexAny(v.Text, "./")+1:]
	if name == "MapEntry" || strings.EqualFold(name, "tuple") {
		return v.Items[0]
	}
	return v
}
