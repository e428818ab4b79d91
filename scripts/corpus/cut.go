package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
)

// cell is a saved cell, line by line.
type cell struct {
	header   history.Header
	events   []history.Event
	journal  []history.JournalEntry
	violated []checkers.Property // in any of its resources, as the run judged it
}

// byLength are the resources, those with the fewest lines first.
func (c *cell) byLength() []string {
	lines := map[string]int{}
	for _, e := range c.events {
		lines[e.Resource]++
	}
	out := slices.Clone(c.header.Resources)
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(lines[a], lines[b]) })
	return out
}

func readCell(dir string) (*cell, error) {
	journal, err := history.ReadJournal(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil {
		return nil, err
	}
	var judged result.Cell
	if err := json.Unmarshal(text, &judged); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	f, err := os.Open(filepath.Join(dir, "history.jsonl"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c := &cell{journal: journal}
	for p, f := range judged.Properties {
		if f.Verdict == checkers.Violated {
			c.violated = append(c.violated, p)
		}
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e history.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		if e.Type == history.TypeHeader && e.Header != nil {
			c.header = *e.Header
		}
		c.events = append(c.events, e)
	}
	return c, lines.Err()
}

// piece is one resource of a cell.
type piece struct {
	name     string
	resource string
	header   history.Header
	history  []byte
	packed   []byte // the same, compressed
	journal  []byte
	clients  checkers.Judgement
	both     checkers.Judgement
}

// cut returns nil for a resource of which nothing can be learnt: it was not
// decided, or its judgement is an error.
func (c *cell) cut(resource string) (*piece, error) {
	p := &piece{resource: resource, header: c.header}
	p.header.Resources, p.header.Host = []string{resource}, ""
	p.name = fmt.Sprintf("real-%s-%s", c.header.Strategy, c.header.Fault)
	dropped := map[string]bool{} // operations of other resources
	for _, e := range c.events {
		switch {
		case e.Type == history.TypeHeader:
			e.Header = &p.header
		case e.Type == history.TypeNote, e.Type == history.TypeLoad:
			continue // decide nothing
		case dropped[e.Op] && e.Type == history.TypeComplete:
			continue
		case e.Resource != "" && e.Resource != resource:
			dropped[e.Op] = true
			continue
		case e.Seen != nil:
			id, seen := e.Seen[resource]
			if !seen {
				return nil, fmt.Errorf("%s has not seen %s", e.Op, resource)
			}
			e.Seen = map[string]string{resource: id}
		case e.Fault != nil:
			f := *e.Fault
			f.Written, f.Held = only(f.Written, resource), only(f.Held, resource)
			if n, held := f.Bytes[resource]; held {
				f.Bytes = map[string]int{resource: n}
			} else {
				f.Bytes = nil
			}
			e.Fault = &f
		}
		line, err := encode(e)
		if err != nil {
			return nil, err
		}
		p.history = append(p.history, line...)
	}
	entries := []history.JournalEntry{}
	for _, e := range c.journal {
		if e.Resource != resource {
			continue
		}
		line, err := encode(e)
		if err != nil {
			return nil, err
		}
		entries, p.journal = append(entries, e), append(p.journal, line...)
	}
	var err error
	if p.packed, err = pack(p.history); err != nil {
		return nil, err
	}
	h, err := history.Parse(bytes.NewReader(p.history), p.name)
	if err != nil {
		return nil, err
	}
	if p.clients, err = judge(h, nil); err != nil {
		return nil, err
	}
	if p.both, err = judge(h, entries); err != nil {
		return nil, err
	}
	if p.both.Status == checkers.Errored || p.clients.Status == checkers.Errored {
		return nil, nil
	}
	for _, f := range p.both.Findings {
		if f.Verdict == checkers.Undecided {
			return nil, nil
		}
	}
	return p, nil
}

func only(all []string, one string) []string {
	if slices.Contains(all, one) {
		return []string{one}
	}
	return nil
}
