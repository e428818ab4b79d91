package foreign

import (
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// logLine is a line of Jepsen's log that may hold an event. The logger is named
// in two ways: "INFO  jepsen.util - 0 :invoke …" before 2016, and
// "… INFO [jepsen worker 0] jepsen.util: 0 :invoke …" since.
var logLine = regexp.MustCompile(`\bjepsen\.util(?: -|:)\s+`)

// logEvent is what must follow: process, type, function, and what it carries.
var logEvent = regexp.MustCompile(`^(\S+)\s+:(\w+)\s+:?(\S+)(?:\s+(.*))?$`)

// readLog reads the events in a log of a Jepsen run. The lines of other loggers
// are counted and left out; a line of jepsen.util that begins as an event does
// and is none is an error.
func readLog(r io.Reader, file string, payloads Payloads) (*History, error) {
	a := newAssembly(file, Log, payloads)
	err := lines(r, file, func(n int, raw []byte) error {
		text := string(raw)
		logger := logLine.FindStringIndex(text)
		if logger == nil || !startsEvent(text[logger[1]:]) {
			a.h.Left.Lines++
			return nil
		}
		e, err := a.fromLog(text, logger[1], n)
		if err != nil {
			return err
		}
		return a.add(e)
	})
	if err != nil {
		return nil, err
	}
	return a.finish()
}

// startsEvent: it begins with the number of a process, or with its keyword.
func startsEvent(rest string) bool {
	return rest != "" && (rest[0] == ':' || rest[0] >= '0' && rest[0] <= '9')
}

func (a *assembly) fromLog(text string, from, line int) (event, error) {
	at := func(i int) Position { return Position{line, utf8.RuneCountInString(text[:i]) + 1} }
	e := event{at: at(from), time: NoTime, index: -1}
	if !utf8.ValidString(text) {
		return e, a.damage(Position{line, 1}, "expected text in UTF-8, found another byte")
	}
	m := logEvent.FindStringSubmatchIndex(text[from:])
	if m == nil {
		return e, a.damage(e.at, "expected a process, a type, a function and a value, found %q", shown(text[from:]))
	}
	part := func(i int) string { return text[from+m[2*i] : from+m[2*i+1]] }
	process, err := ednValues(part(1), a.h.File, e.at)
	if err != nil {
		return e, err
	}
	if len(process) != 1 {
		return e, a.damage(e.at, "expected one process, found %q", shown(part(1)))
	}
	e.process, e.kind, e.f = process[0], part(2), part(3)
	// Behind a failure stands an error, in any form.
	if m[8] < 0 || e.kind == "fail" || e.kind == "info" {
		return e, nil
	}
	values, err := ednValues(part(4), a.h.File, at(from+m[8]))
	if err != nil {
		return e, err
	}
	if len(values) > 0 {
		e.value, e.valued = values[0], true
	}
	if len(values) > 1 && !strings.HasPrefix(values[1].Text, ":") {
		return e, a.damage(values[1].Position, "expected the end of the line after the value, found %s", shown(values[1].String()))
	}
	return e, nil
}
