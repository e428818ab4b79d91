package history

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// ReadJournal reads a journal.jsonl: one JournalEntry a line, in the order in
// which the store accepted the writes. Damage is a *Damage with its line; a
// journal is written after the run and in one go, so a torn end is damage too.
func ReadJournal(path string) ([]JournalEntry, error) {
	f, err := Open(path)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	defer f.Close()
	return readJournal(f, path)
}

func readJournal(r io.Reader, name string) ([]JournalEntry, error) {
	entries := []JournalEntry{}
	last := map[string]int64{}
	torn, err := readLines(r, name, nil, func(n int, text []byte) error {
		var e JournalEntry
		if err := json.Unmarshal(text, &e); err != nil {
			return &Damage{name, n, "not a journal entry: " + err.Error(), fixCut}
		}
		if e.Resource == "" || e.WriteID == "" {
			return &Damage{name, n, "a journal entry without resource or write_id", fixRecorder}
		}
		if before, some := last[e.Resource]; some && e.Seq <= before {
			return &Damage{name, n, fmt.Sprintf("seq %d of %s after seq %d", e.Seq, e.Resource, before), fixCut}
		}
		last[e.Resource] = e.Seq
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if torn != nil {
		return nil, &Damage{name, torn.Line, "the last line is torn", fixCut}
	}
	return entries, nil
}

// WriteJournal writes entries to path, replacing what was there.
func WriteJournal(path string, entries []JournalEntry) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	out := bufio.NewWriter(f)
	enc := json.NewEncoder(out)
	for _, e := range entries {
		if err := enc.Encode(e); err != nil {
			f.Close()
			return fmt.Errorf("write journal: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		f.Close()
		return fmt.Errorf("write journal: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return nil
}
