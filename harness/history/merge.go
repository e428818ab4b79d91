package history

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
)

// Merge writes one history: the header, then every line of the parts, ordered
// by time. Each part is the file of one writer (a worker, the controller) and
// may end in a torn line, which is left out and reported as a warning.
//
// What a killed worker (a worker line with status "killed" says so) had begun
// and not ended is closed with outcome info at the moment of the kill: nobody
// knows whether it took effect. What any other writer left open stays open.
func Merge(dst io.Writer, header Header, parts ...string) (warnings []string, err error) {
	var m merging
	for _, part := range parts {
		torn, err := m.read(part)
		if err != nil {
			return warnings, err
		}
		if torn != nil {
			warnings = append(warnings, torn.Error())
		}
	}
	m.closeKilled()
	// Stable: lines of one time stay in the order in which they were recorded.
	slices.SortStableFunc(m.lines, func(a, b mergeLine) int { return cmp.Compare(a.Time, b.Time) })

	out := bufio.NewWriter(dst)
	header.Schema = cmp.Or(header.Schema, Schema)
	first := int64(0)
	if len(m.lines) > 0 {
		first = m.lines[0].Time
	}
	head, err := json.Marshal(Event{Type: TypeHeader, Time: first, Header: &header})
	if err != nil {
		return warnings, fmt.Errorf("encode header: %w", err)
	}
	out.Write(append(head, '\n')) // errors stay in out and come back from Flush
	for _, line := range m.lines {
		out.Write(line.text)
		out.WriteByte('\n')
	}
	if err := out.Flush(); err != nil {
		return warnings, fmt.Errorf("write history: %w", err)
	}
	return warnings, nil
}

type merging struct {
	lines []mergeLine
}

// mergeLine is what merging has to know of a line; text is kept as it is.
type mergeLine struct {
	Type   Type   `json:"t"`
	Time   int64  `json:"time"`
	Op     string `json:"op"`
	Worker string `json:"worker"`
	Status string `json:"status"`
	text   []byte
}

func (m *merging) read(part string) (torn *Damage, err error) {
	f, err := os.Open(part)
	if err != nil {
		return nil, fmt.Errorf("merge histories: %w", err)
	}
	defer f.Close()
	return readLines(f, part, nil, func(n int, text []byte) error {
		line := mergeLine{text: bytes.Clone(text)}
		if err := json.Unmarshal(text, &line); err != nil {
			return &Damage{part, n, "not an event: " + err.Error(), fixCut}
		}
		if line.Type == TypeHeader {
			return nil // parts need none, and the history has its own
		}
		m.lines = append(m.lines, line)
		return nil
	})
}

func (m *merging) closeKilled() {
	killed := map[string]int64{}
	done := map[string]bool{}
	for _, l := range m.lines {
		switch {
		case l.Type == TypeWorker && l.Status == "killed":
			killed[l.Worker] = l.Time
		case l.Type == TypeComplete:
			done[l.Op] = true
		}
	}
	for _, l := range m.lines {
		at, dead := killed[l.Worker]
		if l.Type != TypeInvoke || !dead || done[l.Op] {
			continue
		}
		at = max(at, l.Time+1)
		text, _ := json.Marshal(Event{Type: TypeComplete, Time: at, Op: l.Op, Outcome: Info, Error: "worker was killed"}) // cannot fail: plain fields
		m.lines = append(m.lines, mergeLine{Type: TypeComplete, Time: at, Op: l.Op, text: text})
	}
}
