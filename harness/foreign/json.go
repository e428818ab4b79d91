package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// jsonLine reads one value of JSON, and knows where its parts stand.
type jsonLine struct {
	text []byte
	line int
	in   *json.Decoder
	file string
}

func newJSONLine(text []byte, file string, line int) *jsonLine {
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	return &jsonLine{text, line, in, file}
}

// at is the place of a byte of the line.
func (j *jsonLine) at(offset int64) Position {
	before := j.text[:min(max(offset, 0), int64(len(j.text)))]
	return Position{j.line, utf8.RuneCount(before) + 1}
}

// next is where the next token begins.
func (j *jsonLine) next() Position {
	i := j.in.InputOffset()
	for i < int64(len(j.text)) && strings.IndexByte(" \t\r\n,:", j.text[i]) >= 0 {
		i++
	}
	return j.at(i)
}

func (j *jsonLine) damage(at Position, what string) error { return &Damage{j.file, at, what} }

// whole is the one value of the line.
func (j *jsonLine) whole() (Value, error) {
	if !utf8.Valid(j.text) {
		i := 0
		for i < len(j.text) {
			r, size := utf8.DecodeRune(j.text[i:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			i += size
		}
		return Value{}, j.damage(j.at(int64(i)), "expected text in UTF-8, found another byte")
	}
	v, err := j.value(0)
	if err != nil {
		return v, err
	}
	at := j.next()
	if _, err := j.in.Token(); err != io.EOF {
		return v, j.damage(at, "expected the end of the line after the event")
	}
	return v, nil
}

func (j *jsonLine) token() (json.Token, Position, error) {
	at := j.next()
	token, err := j.in.Token()
	if err == nil {
		return token, at, nil
	}
	// Only a reader of the whole says exactly where it went wrong: the offset is
	// that behind the character that did not fit.
	var whole any
	var syntax *json.SyntaxError
	if errors.As(json.Unmarshal(j.text, &whole), &syntax) {
		if syntax.Offset >= int64(len(j.text)) && errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil, at, j.damage(j.at(int64(len(j.text))), "expected more JSON, the line ends")
		}
		return nil, at, j.damage(j.at(syntax.Offset-1), "expected JSON: "+shown(syntax.Error()))
	}
	return nil, at, j.damage(at, "expected JSON: "+shown(err.Error()))
}

func (j *jsonLine) value(depth int) (Value, error) {
	token, at, err := j.token()
	if err != nil {
		return Value{}, err
	}
	if depth > maxDepth {
		return Value{}, j.damage(at, "expected values nested at most "+strconv.Itoa(maxDepth)+" deep")
	}
	v := Value{Kind: Scalar, Position: at}
	switch t := token.(type) {
	case nil:
		v.Kind = Nil
	case bool:
		v.Text = strconv.FormatBool(t)
	case string:
		if strings.ContainsRune(t, utf8.RuneError) && j.halfPair() {
			return v, j.damage(at, `expected a character after \u, found half of a pair`)
		}
		v.Text = quoted(t)
	case json.Number:
		if v.Kind, v.Text, err = jsonNumber(t.String()); err != nil {
			return v, j.damage(at, "expected a number that fits, found "+shown(t.String()))
		}
	case json.Delim:
		v.Kind = map[json.Delim]Kind{'[': Vector, '{': Map}[t]
		return v, j.items(&v, depth)
	}
	return v, nil
}

// halfPair: a replacement character of the line is none that it holds itself.
// The decoder puts one wherever a \u is half of a pair, and makes different
// texts equal by it.
func (j *jsonLine) halfPair() bool {
	return !bytes.ContainsRune(j.text, utf8.RuneError) && !bytes.Contains(bytes.ToLower(j.text), []byte(`\ufffd`))
}

// items reads what a bracket has opened.
func (j *jsonLine) items(v *Value, depth int) error {
	seen := map[string]bool{}
	for j.in.More() {
		item, err := j.value(depth + 1)
		if err != nil {
			return err
		}
		if v.Kind == Map && len(v.Items)%2 == 0 {
			if seen[item.Text] {
				return j.damage(item.Position, "expected each field once; "+shown(item.Text)+" comes twice")
			}
			seen[item.Text] = true
		}
		v.Items = append(v.Items, item)
	}
	_, _, err := j.token() // the closing bracket
	return err
}

// jsonNumber: JSON has one kind of number, so 1, 1.0 and 1e0 are one value.
func jsonNumber(text string) (Kind, string, error) {
	if text == "-0" {
		return Integer, "0", nil
	}
	if !strings.ContainsAny(text, ".eE") {
		return Integer, text, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, "", err
	}
	const exact = 1 << 53
	if f == math.Trunc(f) && math.Abs(f) < exact {
		return Integer, strconv.FormatInt(int64(f), 10), nil
	}
	return Scalar, strconv.FormatFloat(f, 'g', -1, 64), nil
}
