package foreign

import (
	"strings"
	"unicode"
)

// edn reads values of EDN (https://github.com/edn-format/edn), one after the
// other. The libraries that read EDN in Go do not say where a value stood,
// and a history is judged by its lines.
type edn struct{ *scanner }

// closed is what came instead of a value: the end of the collection around it.
type closed struct {
	by rune
	at Position
}

// value reads one value. ok is false at the end of the file; end is set if a
// closing bracket came instead.
func (e edn) value(depth int) (v Value, end *closed, ok bool, err error) {
	for {
		if err := e.blank(); err != nil {
			return v, nil, false, err
		}
		r, more, err := e.peek()
		if err != nil || !more {
			return v, nil, false, err
		}
		at := e.next
		if depth > maxDepth {
			return v, nil, false, e.damage(at, "expected values nested at most %d deep", maxDepth)
		}
		if e.tooLong() {
			return v, nil, false, e.tooLarge(at)
		}
		switch r {
		case ')', ']', '}':
			e.take()
			return v, &closed{r, at}, true, nil
		case '(', '[', '{':
			e.take()
			v, err = e.collection(at, r, depth)
		case '"':
			e.take()
			v, err = e.text(at)
		case '\\':
			e.take()
			v, err = e.character(at)
		case '#':
			e.take()
			var discarded bool
			v, discarded, err = e.dispatch(at, depth)
			if err == nil && discarded {
				continue
			}
		case '^', '\'', '`', '~', '@':
			return v, nil, false, e.damage(at, "expected a value, found %q, which EDN does not have", r)
		default:
			v, err = e.token(at)
		}
		return v, nil, err == nil, err
	}
}

func (e edn) tooLarge(at Position) error {
	return e.damage(at, "expected an event of at most %d characters; this one is longer", maxForm)
}

// blank goes past white space, commas and comments.
func (e edn) blank() error {
	comment := false
	for {
		r, more, err := e.peek()
		switch {
		case err != nil || !more:
			return err
		case comment:
			comment = r != '\n'
		case r == ';':
			comment = true
		case !isBlank(r):
			return nil
		}
		e.take()
	}
}

func isBlank(r rune) bool { return r == ',' || unicode.IsSpace(r) || r == '\ufeff' }

var closing = map[rune]rune{'(': ')', '[': ']', '{': '}'}

// collection reads what follows an opening bracket.
func (e edn) collection(at Position, open rune, depth int) (Value, error) {
	v := Value{Kind: Vector, Position: at}
	for {
		item, end, ok, err := e.value(depth + 1)
		switch {
		case err != nil:
			return v, err
		case !ok:
			return v, e.damage(e.next, "expected %q to close the %q of line %d, column %d; the file ends", closing[open], open, at.Line, at.Column)
		case end != nil && end.by != closing[open]:
			return v, e.damage(end.at, "expected %q to close the %q of line %d, column %d; found %q", closing[open], open, at.Line, at.Column, end.by)
		case end != nil && open != '{':
			return v, nil
		case end != nil:
			v.Kind = Map
			return v, e.wholeMap(v, end.at)
		}
		v.Items = append(v.Items, item)
	}
}

// wholeMap: every key has a value, and none comes twice.
func (e edn) wholeMap(v Value, end Position) error {
	if len(v.Items)%2 != 0 {
		return e.damage(end, "expected a value for the key %s; the map of line %d ends", shown(v.Items[len(v.Items)-1].String()), v.Position.Line)
	}
	seen := make(map[string]bool, len(v.Items)/2)
	for i := 0; i < len(v.Items); i += 2 {
		key := v.Items[i].String()
		if seen[key] {
			return e.damage(v.Items[i].Position, "expected each key once; %s comes twice in this map", shown(key))
		}
		seen[key] = true
	}
	return nil
}

// dispatch reads what follows a #.
func (e edn) dispatch(at Position, depth int) (v Value, discarded bool, err error) {
	r, more, err := e.peek()
	switch {
	case err != nil:
		return v, false, err
	case !more:
		return v, false, e.damage(at, "expected a tag, a set or _ after #; the file ends")
	case r == '{':
		e.take()
		if v, err = e.collection(at, r, depth); err == nil {
			v.Kind = Set
		}
		return v, false, err
	case r == '_':
		e.take()
		_, err = e.follower(at, depth, "a value to discard after #_")
		return v, true, err
	case !unicode.IsLetter(r):
		return v, false, e.damage(at, "expected a tag, a set or _ after #, found %q", r)
	}
	tag, err := e.word()
	if err != nil {
		return v, false, err
	}
	inner, err := e.follower(at, depth, "a value after the tag #"+shown(tag))
	return Value{Kind: Tagged, Text: tag, Items: []Value{inner}, Position: at}, false, err
}

// follower reads the value that must follow.
func (e edn) follower(at Position, depth int, what string) (Value, error) {
	v, end, ok, err := e.value(depth + 1)
	if err == nil && (!ok || end != nil) {
		err = e.damage(at, "expected %s", what)
	}
	return v, err
}

// ednValues reads all values of a text; from is where it begins in its file.
func ednValues(text, file string, from Position) ([]Value, error) {
	s := newScanner(strings.NewReader(text), file)
	s.next = from
	e := edn{s}
	var out []Value
	for {
		v, end, ok, err := e.value(0)
		switch {
		case err != nil:
			return nil, err
		case !ok:
			return out, nil
		case end != nil:
			return nil, s.damage(end.at, "expected a value, found %q", end.by)
		}
		out = append(out, v)
	}
}
