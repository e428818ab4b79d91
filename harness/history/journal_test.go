package history

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	entries := []JournalEntry{
		{Seq: 1, Resource: "r00", WriteID: "w1-3", Grant: "w1-1", Basis: "init", LastFence: 41, BackendPID: 9, Time: "2024-01-02T03:04:05.000006Z"},
		{Seq: 2, Resource: "r01", WriteID: "w1-7", Basis: "init"},
		{Seq: 5, Resource: "r00", WriteID: "w2-3", Basis: "w1-3"},
	}
	for _, want := range [][]JournalEntry{entries, {}} {
		if err := WriteJournal(path, want); err != nil {
			t.Fatal(err)
		}
		got, err := ReadJournal(path)
		if err != nil || got == nil || !slices.Equal(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	if _, err := ReadJournal(path + ".missing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if err := WriteJournal(filepath.Join(path, "below-a-file"), entries); err == nil {
		t.Error("written below a file")
	}
	if err := WriteJournal("/dev/full", entries); err == nil {
		t.Error("a full disk is not noticed")
	}
}

func TestJournalDamage(t *testing.T) {
	const whole = `{"seq":1,"resource":"r00","write_id":"a","basis":"init"}`
	for _, c := range []struct {
		name, text string
		line       int
		what       string
	}{
		{"torn", whole + "\n" + whole[:20], 2, "torn"},
		{"no newline", whole, 1, "torn"},
		{"no JSON in the middle", "x\n" + whole + "\n", 1, "not JSON"},
		{"another type", `{"seq":"1"}` + "\n" + whole + "\n", 1, "not a journal entry"},
		{"no resource", `{"seq":1,"write_id":"a"}` + "\n", 1, "without resource"},
		{"no write id", `{"seq":1,"resource":"r00"}` + "\n", 1, "without resource or write_id"},
		{"out of order", whole + "\n" + whole + "\n", 2, "seq 1 of r00 after seq 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readJournal(strings.NewReader(c.text), "h.jsonl")
			expectDamage(t, err, c.line, c.what)
		})
	}
}
