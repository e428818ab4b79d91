package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness"
)

// screen shows progress: one line that is rewritten on a terminal, plain lines
// elsewhere.
type screen struct {
	out    *os.File
	live   bool // a terminal
	colour bool
	began  time.Time

	mu      sync.Mutex
	drawn   bool // the live line is on the screen
	pauses  int
	updates int
}

func newScreen(out *os.File) *screen {
	live := term.IsTerminal(int(out.Fd())) && os.Getenv("TERM") != "dumb"
	return &screen{out: out, live: live, colour: live && os.Getenv("NO_COLOR") == "", began: time.Now()}
}

// width is the width of the terminal now, 100 elsewhere.
func (s *screen) width() int {
	if w, _, err := term.GetSize(int(s.out.Fd())); s.live && err == nil && w > 0 {
		return w
	}
	return 100
}

// Say prints a line.
func (s *screen) Say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	fmt.Fprintf(s.out, format+"\n", args...)
}

// Cell shows how far the run is.
func (s *screen) Cell(p harness.CellProgress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := fmt.Sprintf("[%d/%d] %s under %s", p.Number, p.Of, p.Strategy, p.Fault)
	if c := p.Done; c != nil {
		s.erase()
		s.pauses += c.PausesLanded
		s.updates += c.Updates
		line := fmt.Sprintf("%s: %s, %.1f s, %d updates%s%s", name, s.paint(c.Status), p.Ran.Seconds(), c.Updates, pauses(c.PausesLanded, c.Pauses), found(c.Properties))
		for i, part := range strings.Split(text.WrapSoft(line, s.width()-2), "\n") {
			if i > 0 {
				part = "  " + part
			}
			fmt.Fprintln(s.out, strings.TrimRight(part, " "))
		}
		return
	}
	if !s.live {
		return
	}
	s.erase()
	line := fmt.Sprintf("%s: %.0f s", name, p.Ran.Seconds())
	// As much as fits, the most telling first.
	for _, more := range []string{s.left(p), fmt.Sprintf(", %d updates", p.Writes), fmt.Sprintf(", %d writes of old holders", p.Late),
		fmt.Sprintf("; before: %d updates, %d pauses hit", s.updates, s.pauses)} {
		if len(line)+len(more) < s.width() {
			line += more
		}
	}
	fmt.Fprint(s.out, line)
	s.drawn = true
}

// left guesses the time that is left from that of the cells that are done.
func (s *screen) left(p harness.CellProgress) string {
	if p.Number < 3 {
		return ""
	}
	each := time.Since(s.began) / time.Duration(p.Number)
	return fmt.Sprintf(", about %.0f s left", (each * time.Duration(p.Of-p.Number+1)).Seconds())
}

func (s *screen) erase() {
	if s.drawn {
		fmt.Fprint(s.out, "\r\x1b[K")
		s.drawn = false
	}
}

func (s *screen) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
}

func (s *screen) paint(status checkers.Status) string {
	if !s.colour {
		return string(status)
	}
	colour := map[checkers.Status]string{checkers.Pass: "32", checkers.Failed: "31", checkers.Inconclusive: "33", checkers.Errored: "35"}[status]
	return "\x1b[" + colour + "m" + string(status) + "\x1b[0m"
}

func pauses(landed, all int) string {
	if all == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of %d pauses hit a holder", landed, all)
}

func found(properties map[checkers.Property]checkers.Finding) string {
	var b strings.Builder
	for _, p := range checkers.Properties {
		if f := properties[p]; f.Verdict == checkers.Violated {
			fmt.Fprintf(&b, ", %s ×%d", p, f.Count)
		}
	}
	return b.String()
}

// relative shortens a path below the working directory.
func relative(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}
