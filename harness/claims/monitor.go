package claims

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Monitor has what one Redis executes for this case, from the moment it was
// asked for (https://redis.io/docs/latest/commands/monitor/).
type Monitor struct {
	stage *Stage
	node  int
	only  string // keys begin so

	mu       sync.Mutex
	commands []Command
	marks    int
}

// Command is one command that a server executed.
type Command struct {
	At   time.Duration // of the server's wall clock since 1970
	From string        // address of the client; lua for what a script did
	Args []string      // the name in small letters
	Line string        // as the server wrote it
}

// Is says whether it is this command, whatever its arguments.
func (c Command) Is(name string) bool { return len(c.Args) > 0 && c.Args[0] == name }

// Has says whether one of its arguments is this.
func (c Command) Has(arg string) bool { return slices.Contains(c.Args, arg) }

// Monitor begins to watch the i-th Redis until the end of the case.
func (s *Stage) Monitor(i int) *Monitor {
	place := s.Servers.Places.Redis[i]
	conn, err := net.DialTimeout("tcp", place.Addr, 5*time.Second)
	s.must(err, "watch "+place.Addr)
	m := &Monitor{stage: s, node: i, only: s.Prefix()}
	s.Heal(func() { _ = conn.Close() })
	lines := bufio.NewReader(conn)
	s.must(conn.SetDeadline(time.Now().Add(10*time.Second)), "watch "+place.Addr)
	for _, command := range []string{"AUTH " + place.Password, "MONITOR"} {
		_, err := fmt.Fprintf(conn, "%s\r\n", command)
		s.must(err, "watch "+place.Addr)
		answer, err := lines.ReadString('\n')
		s.must(err, "watch "+place.Addr)
		if !strings.HasPrefix(answer, "+OK") {
			s.fail(fmt.Errorf("watch %s: %s", place.Addr, strings.TrimSpace(answer)))
		}
	}
	s.must(conn.SetDeadline(time.Time{}), "watch "+place.Addr)
	go m.listen(lines)
	return m
}

// MonitorAll watches all servers that the locks of the case are on.
func (s *Stage) MonitorAll() []*Monitor {
	var all []*Monitor
	for i := range s.strategy.Locker.Needs.Redis {
		all = append(all, s.Monitor(i))
	}
	return all
}

// listen ends with the connection, which Catch notices.
func (m *Monitor) listen(lines *bufio.Reader) {
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		if !strings.Contains(line, m.only) {
			continue // another case's
		}
		c, err := parseCommand(line)
		if err != nil {
			return
		}
		m.mu.Lock()
		m.commands = append(m.commands, c)
		m.mu.Unlock()
	}
}

// parseCommand reads +1339518083.107412 [0 127.0.0.1:60866] "keys" "*".
func parseCommand(line string) (Command, error) {
	c := Command{Line: strings.TrimPrefix(strings.TrimSpace(line), "+")}
	at, rest, ok := strings.Cut(c.Line, " [")
	from, rest, closed := strings.Cut(rest, "] ")
	sec, err := strconv.ParseFloat(at, 64)
	if !ok || !closed || err != nil {
		return c, fmt.Errorf("no line of MONITOR: %q", line)
	}
	c.At = time.Duration(sec * float64(time.Second))
	_, c.From, _ = strings.Cut(from, " ") // behind the number of the database
	for rest != "" {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return c, fmt.Errorf("no line of MONITOR: %q", line)
		}
		arg, err := strconv.Unquote(quoted)
		if err != nil {
			return c, fmt.Errorf("no line of MONITOR: %q", line)
		}
		c.Args = append(c.Args, arg)
		rest = strings.TrimPrefix(rest[len(quoted):], " ")
	}
	if len(c.Args) > 0 {
		c.Args[0] = strings.ToLower(c.Args[0])
	}
	return c, nil
}

// All is everything seen so far. Call Catch before, where the last commands count.
func (m *Monitor) All() []Command {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.commands)
}

// Seen are the commands seen so far that match.
func (m *Monitor) Seen(match func(Command) bool) []Command {
	return slices.DeleteFunc(m.All(), func(c Command) bool { return !match(c) })
}

// Lines are the commands, as the server wrote them, that contain all of the words.
func (m *Monitor) Lines(words ...string) []string {
	var found []string
	for _, c := range m.All() {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(c.Line, w) }) {
			found = append(found, c.Line)
		}
	}
	return found
}

// command is how MONITOR writes a command and its first argument.
func command(name, key string) string { return fmt.Sprintf("%q %q", name, key) }

// Catch waits until all that the server has executed by now has been seen, by a
// command of its own that comes behind it. A server that does not answer has
// nothing more to say; then it is false.
func (m *Monitor) Catch() bool {
	ctx, cancel := context.WithTimeout(m.stage.ctx, 5*time.Second)
	defer cancel()
	m.mu.Lock()
	m.marks++
	mark := fmt.Sprintf("%smark-%d", m.only, m.marks)
	m.mu.Unlock()
	if err := m.stage.Servers.Redis(m.node).Exists(ctx, mark).Err(); err != nil {
		return false
	}
	return m.stage.Within(5*time.Second, func(context.Context) bool {
		return len(m.Seen(func(c Command) bool { return c.Has(mark) })) > 0
	})
}

// Sync is Catch of a server that must answer.
func (m *Monitor) Sync() {
	if !m.Catch() {
		m.stage.impossible("MONITOR of Redis %d did not tell all that it executed", m.node+1)
	}
}
