package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// labelled adds a file of every labelled history to a corpus.
func labelled(f *testing.F, file string) {
	f.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "testdata", "histories", "*", file))
	if err != nil || len(paths) == 0 {
		f.Fatalf("no labelled histories: %v", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		if len(text) < 64<<10 { // the fuzzer gets nowhere with large ones
			f.Add(string(text))
		}
	}
}

// expectPlace: bad input is a *Damage in one line that names a line of the text.
func expectPlace(t *testing.T, err error, text string, least int) {
	t.Helper()
	var d *Damage
	if !errors.As(err, &d) {
		t.Fatalf("not damage: %v", err)
	}
	if d.Line < least || d.Line > strings.Count(text, "\n")+1 {
		t.Fatalf("line %d of %d: %v", d.Line, strings.Count(text, "\n")+1, err)
	}
	if strings.ContainsAny(d.Error(), "\n\r\x00") || d.What == "" {
		t.Fatalf("not one line: %q", d.Error())
	}
}

// FuzzParse: whatever a file holds, it is read or refused with its line; what
// was read and is written again is the same; what is valid can be judged.
func FuzzParse(f *testing.F) {
	f.Add(strings.Join(sample, "\n") + "\n")
	f.Add(strings.Join(sample, "\n"))
	f.Add(strings.Join(sample[:5], "\n"))
	f.Add(sample[0] + "\n\n")
	f.Add("{}\n")
	labelled(f, "history.jsonl")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		h, err := Parse(strings.NewReader(text), "h.jsonl")
		if err != nil {
			expectPlace(t, err, text, 1)
			return
		}
		for _, w := range h.Warnings {
			if !strings.HasPrefix(w, "h.jsonl:") {
				t.Fatalf("a warning without its place: %q", w)
			}
		}
		again, err := Parse(bytes.NewReader(written(t, h)), "h.jsonl")
		if err != nil {
			t.Fatalf("written and read again: %v", err)
		}
		if a, b := content(h), content(again); a != b {
			t.Fatalf("written and read again, it is another:\n%s\n%s", a, b)
		}
		h.Pauses()
		if err := h.Validate(); err != nil {
			expectPlace(t, err, text, 1)
			return
		}
		once := savedAndRead(t, dir, h)
		if err := once.Validate(); err != nil {
			t.Fatalf("valid, saved and read again: %v", err)
		}
		if a, b := content(once), content(savedAndRead(t, dir, once)); a != b {
			t.Fatalf("saved and read again, it is another:\n%s\n%s", a, b)
		}
		for _, op := range h.Operations {
			if op.Call >= op.Return || op.Outcome == "" || op.Resource == "" {
				t.Fatalf("valid, and yet %+v", op)
			}
		}
	})
}

func savedAndRead(t *testing.T, dir string, h *History) *History {
	t.Helper()
	path := filepath.Join(dir, "history.jsonl")
	if err := Save(path, h); err != nil {
		t.Fatal(err)
	}
	again, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// written is everything that was read of a history, also what makes no sense
// where it stands. An operation without an end stays open.
func written(t *testing.T, h *History) []byte {
	t.Helper()
	events := []Event{{Type: TypeHeader, Time: 1, Header: &h.Header}}
	for _, o := range h.Operations {
		events = append(events, Event{Type: TypeInvoke, Time: o.Call, Op: o.ID, Process: o.Process, Worker: o.Worker, Client: o.Client,
			Resource: o.Resource, Kind: o.Kind, Grant: o.Grant, WriteID: o.WriteID, Basis: o.Basis,
			Token: o.Token, LeaseCall: o.LeaseCall, LeaseTTL: o.LeaseTTL, Version: o.Version})
		if o.Outcome != "" {
			events = append(events, Event{Type: TypeComplete, Time: o.Completed, Op: o.ID, Outcome: o.Outcome, Error: o.Error})
		}
	}
	for _, f := range h.Faults {
		events = append(events, Event{Type: TypeFault, Time: f.Time, Fault: &f.Fault})
	}
	events = append(events, h.Events...)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	for _, e := range events {
		if err := enc.Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// content is a history without the lines it came from.
func content(h *History) string {
	c := *h
	c.Warnings = nil
	c.Operations = slices.Clone(h.Operations)
	for i := range c.Operations {
		c.Operations[i].Line, c.Operations[i].End = 0, 0
	}
	slices.SortFunc(c.Operations, func(a, b Operation) int { return strings.Compare(a.ID, b.ID) })
	c.Faults = slices.Clone(h.Faults)
	for i := range c.Faults {
		c.Faults[i].Line = 0
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// FuzzReadJournal: likewise, and a journal is written by the program itself.
func FuzzReadJournal(f *testing.F) {
	f.Add(`{"seq":1,"resource":"r00","write_id":"a","basis":"init"}` + "\n")
	f.Add(`{"seq":1,"resource":"r00","write_id":"a","basis":"init"}`)
	f.Add("{}\n")
	f.Add("")
	labelled(f, "journal.jsonl")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := readJournal(strings.NewReader(text), "h.jsonl")
		if err != nil {
			expectPlace(t, err, text, 1)
			return
		}
		if entries == nil {
			t.Fatal("no entries and no error")
		}
		path := filepath.Join(dir, "journal.jsonl")
		if err := WriteJournal(path, entries); err != nil {
			t.Fatal(err)
		}
		again, err := ReadJournal(path)
		if err != nil || !reflect.DeepEqual(entries, again) {
			t.Fatalf("written and read again, it is another: %v\n%+v\n%+v", err, entries, again)
		}
	})
}

// FuzzMerge: the parts of a history, which die with their writers, are merged or
// refused with a line of one of them; what was merged can be read or refused.
func FuzzMerge(f *testing.F) {
	whole := strings.Join(sample[1:], "\n") + "\n"
	f.Add(whole, whole[:len(whole)/2])
	f.Add(whole, `{"t":"worker","time":31,"worker":"w1","status":"killed"}`+"\n")
	f.Add("", "\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, a, b string) {
		parts := []string{filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")}
		for i, text := range []string{a, b} {
			if err := os.WriteFile(parts[i], []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		_, err := Merge(&out, Header{}, parts...)
		if err != nil {
			var d *Damage
			if !errors.As(err, &d) {
				t.Fatalf("not damage: %v", err)
			}
			text := a
			if d.File == parts[1] {
				text = b
			}
			expectPlace(t, err, text, 1)
			return
		}
		if _, err := Parse(bytes.NewReader(out.Bytes()), "h.jsonl"); err != nil {
			expectPlace(t, err, out.String(), 1)
		}
	})
}
