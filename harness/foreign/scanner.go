package foreign

import (
	"bufio"
	"fmt"
	"io"
	"unicode/utf8"
)

// What a file may hold at most. A history that needs more is none: these keep a
// hostile file from filling the memory or the stack.
const (
	maxForm  = 1 << 20 // characters of one event
	maxLine  = 1 << 20 // bytes of one line of JSON or of a log
	maxDepth = 64      // of nested values
)

// scanner reads characters and knows where they stand.
type scanner struct {
	file string
	in   *bufio.Reader
	next Position // of the character that comes next
	size int      // characters since the last reset
	held rune     // the next character, if peeked
	has  bool
	end  bool
}

func newScanner(r io.Reader, file string) *scanner {
	return &scanner{file: file, in: bufio.NewReaderSize(r, 1<<16), next: Position{1, 1}}
}

func (s *scanner) damage(at Position, format string, args ...any) error {
	return &Damage{s.file, at, fmt.Sprintf(format, args...)}
}

// peek is the next character; ok is false at the end of the file.
func (s *scanner) peek() (r rune, ok bool, err error) {
	if s.has || s.end {
		return s.held, s.has, nil
	}
	r, size, err := s.in.ReadRune()
	switch {
	case err == io.EOF:
		s.end = true
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("read %s: %w", s.file, err)
	case r == utf8.RuneError && size == 1:
		return 0, false, s.damage(s.next, "expected text in UTF-8, found another byte")
	}
	s.held, s.has = r, true
	return r, true, nil
}

// take goes past the character that peek has shown.
func (s *scanner) take() {
	s.has = false
	s.size++
	if s.held == '\n' {
		s.next = Position{s.next.Line + 1, 1}
	} else {
		s.next.Column++
	}
}

// begin starts to count the size of a form; tooLong says that it has grown
// beyond what an event can need.
func (s *scanner) begin()        { s.size = 0 }
func (s *scanner) tooLong() bool { return s.size > maxForm }
