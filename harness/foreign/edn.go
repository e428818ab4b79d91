package foreign

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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

// text reads a string after its opening quote.
func (e edn) text(at Position) (Value, error) {
	var out strings.Builder
	for {
		r, more, err := e.peek()
		if err != nil {
			return Value{}, err
		}
		if !more {
			return Value{}, e.damage(e.next, "expected a quote to close the string of line %d, column %d; the file ends", at.Line, at.Column)
		}
		here := e.next
		e.take()
		if e.tooLong() {
			return Value{}, e.tooLarge(at)
		}
		switch r {
		case '"':
			return Value{Kind: Scalar, Text: quoted(out.String()), Position: at}, nil
		case '\\':
			if r, err = e.escape(here); err != nil {
				return Value{}, err
			}
		}
		out.WriteRune(r)
	}
}

var escapes = map[rune]rune{'"': '"', '\\': '\\', 'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f'}

// escape reads what follows a backslash in a string.
func (e edn) escape(at Position) (rune, error) {
	r, more, err := e.peek()
	if err != nil {
		return 0, err
	}
	if plain, known := escapes[r]; known && more {
		e.take()
		return plain, nil
	}
	if r != 'u' || !more {
		return 0, e.damage(at, `expected one of \" \\ \n \t \r \b \f \u0000 in a string`)
	}
	e.take()
	code := ""
	for range 4 {
		r, more, err := e.peek()
		if err != nil {
			return 0, err
		}
		if !more || !isHex(r) {
			return 0, e.damage(at, `expected four hexadecimal digits after \u`)
		}
		e.take()
		code += string(r)
	}
	n, _ := strconv.ParseUint(code, 16, 32) // four hexadecimal digits
	if !utf8.ValidRune(rune(n)) {
		return 0, e.damage(at, `expected a character after \u, found half of a pair`)
	}
	return rune(n), nil
}

func isHex(r rune) bool { return strings.ContainsRune("0123456789abcdefABCDEF", r) }

// character reads what follows a backslash outside a string.
func (e edn) character(at Position) (Value, error) {
	r, more, err := e.peek()
	if err != nil {
		return Value{}, err
	}
	if !more || unicode.IsSpace(r) {
		return Value{}, e.damage(at, `expected a character after the backslash`)
	}
	e.take()
	rest, err := e.word()
	return Value{Kind: Scalar, Text: `\` + string(r) + rest, Position: at}, err
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

// word reads up to the end of a token.
func (e edn) word() (string, error) {
	var out strings.Builder
	for {
		r, more, err := e.peek()
		if err != nil {
			return "", err
		}
		if !more || isBlank(r) || strings.ContainsRune(`()[]{}";\`, r) {
			return out.String(), nil
		}
		if e.tooLong() {
			return "", e.tooLarge(e.next)
		}
		e.take()
		out.WriteRune(r)
	}
}

// token reads a number, a keyword, a symbol, nil, true or false.
func (e edn) token(at Position) (Value, error) {
	word, err := e.word()
	if err != nil {
		return Value{}, err
	}
	v := Value{Kind: Scalar, Text: word, Position: at}
	digits := strings.TrimLeft(word, "+-")
	switch {
	case word == "nil":
		v.Kind, v.Text = Nil, ""
	case strings.HasPrefix(word, ":"):
		v.Kind = Keyword
		if strings.Trim(word, ":") == "" || strings.HasPrefix(word, "::") {
			err = e.damage(at, "expected a name after the colon, found %q", shown(word))
		}
	case len(word)-len(digits) <= 1 && digits != "" && digits[0] >= '0' && digits[0] <= '9':
		v.Kind, v.Text, err = number(word)
		if err != nil {
			err = e.damage(at, "expected a number, found %q", shown(word))
		}
	case word == "" || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) || r == '@' || r == '^' || r == '`' || r == '~' }):
		err = e.damage(at, "expected a value, found %q", shown(word))
	}
	return v, err
}

// number is a number in a normal form: 7, +7 and 7N are one integer.
func number(word string) (Kind, string, error) {
	text := strings.TrimPrefix(word, "+")
	digits := strings.TrimSuffix(strings.TrimPrefix(text, "-"), "N")
	if strings.Trim(digits, "0123456789") == "" && digits != "" {
		if digits[0] == '0' && len(digits) > 1 {
			return 0, "", strconv.ErrSyntax // an octal number to some readers
		}
		if digits == "0" {
			return Integer, "0", nil
		}
		return Integer, strings.TrimSuffix(text, "N"), nil
	}
	digits = strings.TrimSuffix(text, "M")
	if strings.Trim(digits, "0123456789.eE+-") != "" {
		return 0, "", strconv.ErrSyntax
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsInf(f, 0) {
		return 0, "", strconv.ErrRange
	}
	if strings.HasSuffix(text, "M") {
		return Scalar, text, nil // exact: two that are written differently are not made one
	}
	text = strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0" // to EDN, 1 and 1.0 are two values
	}
	return Scalar, text, nil
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

// forms calls each for every event of a file: every value in the one vector or
// list that it holds, or every value of the file. layout says which.
func (e edn) forms(each func(Value) error) (layout string, err error) {
	for {
		if err := e.blank(); err != nil {
			return layout, err
		}
		e.begin()
		r, more, err := e.peek()
		if err != nil || !more {
			return layout, err
		}
		at := e.next
		if layout == "" && (r == '[' || r == '(') {
			e.take()
			layout = map[rune]string{'[': "a vector", '(': "a list"}[r]
			if err := e.inside(at, r, each); err != nil {
				return layout, err
			}
			continue
		}
		v, end, ok, err := e.value(0)
		switch {
		case err != nil || !ok:
			return layout, err
		case end != nil:
			return layout, e.damage(end.at, "expected an event, found %q, which closes nothing", end.by)
		case layout != "" && layout != bareMaps:
			return layout, e.damage(v.Position, "expected the end of the file after the history, which is %s", layout)
		}
		layout = bareMaps
		if err := each(v); err != nil {
			return layout, err
		}
	}
}

const bareMaps = "bare maps"

// inside reads the events of a vector or list one by one: the history may be
// larger than any one of its events.
func (e edn) inside(at Position, open rune, each func(Value) error) error {
	for {
		if err := e.blank(); err != nil {
			return err
		}
		e.begin()
		v, end, ok, err := e.value(1)
		switch {
		case err != nil:
			return err
		case !ok:
			return e.damage(e.next, "expected %q to close the %q of line %d, column %d; the file ends", closing[open], open, at.Line, at.Column)
		case end != nil && end.by != closing[open]:
			return e.damage(end.at, "expected %q to close the %q of line %d, column %d; found %q", closing[open], open, at.Line, at.Column, end.by)
		case end != nil:
			return nil
		}
		if err := each(v); err != nil {
			return err
		}
	}
}
