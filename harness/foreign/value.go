package foreign

import (
	"slices"
	"strconv"
	"strings"
)

// Kind tells values apart.
type Kind int

// The kinds of value.
const (
	Nil     Kind = iota
	Scalar       // booleans, numbers, strings, characters, keywords, symbols
	Vector       // and lists: an operation does not tell them apart
	Map          // Items are keys and values in turn
	Set          //
	Tagged       // Items has the one value, Text the tag
	Keyword      // a scalar that begins with a colon
	Integer      // a scalar without a fraction
)

// Value is a piece of EDN. Two values that are equal have the same String.
type Value struct {
	Kind     Kind
	Text     string // of a scalar, in a normal form; of Tagged its tag
	Items    []Value
	Position Position
}

// String is the value as EDN, in a normal form: maps and sets are sorted.
func (v Value) String() string {
	var out strings.Builder
	v.write(&out)
	return out.String()
}

func (v Value) write(out *strings.Builder) {
	list := func(open string, items []string, end string) {
		out.WriteString(open)
		out.WriteString(strings.Join(items, " "))
		out.WriteString(end)
	}
	switch v.Kind {
	case Nil:
		out.WriteString("nil")
	case Vector:
		list("[", texts(v.Items), "]")
	case Set:
		items := texts(v.Items)
		slices.Sort(items)
		list("#{", items, "}")
	case Map:
		var items []string
		for i := 0; i+1 < len(v.Items); i += 2 {
			items = append(items, v.Items[i].String()+" "+v.Items[i+1].String())
		}
		slices.Sort(items)
		out.WriteString("{" + strings.Join(items, ", ") + "}")
	case Tagged:
		out.WriteString("#" + v.Text + " ")
		v.Items[0].write(out)
	default:
		out.WriteString(v.Text)
	}
}

func texts(vs []Value) []string {
	out := make([]string, len(vs))
	for i, v := range vs {
		out[i] = v.String()
	}
	return out
}

// Pair is the two values of a vector of two.
func (v Value) Pair() (first, second Value, ok bool) {
	if v.Kind != Vector || len(v.Items) != 2 {
		return Value{}, Value{}, false
	}
	return v.Items[0], v.Items[1], true
}

// Int is an integer that fits into 64 bits.
func (v Value) Int() (int64, bool) {
	if v.Kind != Integer {
		return 0, false
	}
	n, err := strconv.ParseInt(v.Text, 10, 64)
	return n, err == nil
}

// field is the value of a keyword in a map.
func (v Value) field(name string) (Value, bool) {
	for i := 0; i+1 < len(v.Items); i += 2 {
		if v.Items[i].Text == name {
			return v.Items[i+1], true
		}
	}
	return Value{}, false
}

// shown is a value in a message.
func shown(text string) string { return Printable(text, 40) }

// Printable is a piece of a file that a message or a terminal can show: one
// line of at most so many characters, whatever the file holds.
func Printable(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '�'
		}
		return r
	}, text)
}

// quoted is a string as EDN writes it.
func quoted(s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range s {
		switch r {
		case '"', '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case '\n':
			out.WriteString(`\n`)
		case '\t':
			out.WriteString(`\t`)
		case '\r':
			out.WriteString(`\r`)
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}
