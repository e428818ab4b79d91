package foreign

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
