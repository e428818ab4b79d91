package checkers

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/torture-harness/torture/harness/history"
)

var update = flag.Bool("update", false, "write ../testdata/histories anew from the tables")

const labelledDir = "../testdata/histories"

// label is what a saved history must be judged to be.
type label struct {
	Why     string               `json:"why"`
	Good    bool                 `json:"good"`    // nothing named here is violated
	Clients map[Property]Verdict `json:"clients"` // without the journal
	Both    map[Property]Verdict `json:"with_journal"`
	Hidden  int                  `json:"hidden_from_clients"`
}

// labelled are all tables of histories, as they are saved.
func labelled() []situation {
	all := situations()
	for _, c := range leaseCases() {
		want := map[Property]Verdict{LeaseExclusion: c.want}
		all = append(all, situation{
			name: "lease-" + strings.Trim(strings.Map(func(r rune) rune {
				if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
					return r
				}
				return '-'
			}, strings.ToLower(c.name)), "-"),
			why: "Lease-exclusion: " + c.name + ".", history: c.history(), journal: []string{}, clients: want, both: want,
		})
	}
	return all
}

// TestLabelledHistories reads every saved history with the reader that a user's
// histories are read with, and judges it.
func TestLabelledHistories(t *testing.T) {
	if *update {
		for _, s := range labelled() {
			save(t, s)
		}
	}
	dirs, err := filepath.Glob(filepath.Join(labelledDir, "*", "label.json"))
	if err != nil || len(dirs) < len(labelled()) {
		t.Fatalf("%d labelled histories, want at least %d (write them with -update): %v", len(dirs), len(labelled()), err)
	}
	for _, path := range dirs {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var l label
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &l); err != nil {
				t.Fatal(err)
			}
			hist, err := history.ReadFile(filepath.Join(dir, "history.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			entries, err := history.ReadJournal(filepath.Join(dir, "journal.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			compareVerdicts(t, "clients", judged(t, hist, nil, Config{}), l.Clients)
			j := judged(t, hist, entries, Config{})
			compareVerdicts(t, "with the journal", j, l.Both)
			if j.HiddenFromClients != l.Hidden || j.Status == Errored {
				t.Errorf("%d hidden, status %s %q", j.HiddenFromClients, j.Status, j.Reasons)
			}
		})
	}
}

func save(t *testing.T, s situation) {
	t.Helper()
	dir := filepath.Join(labelledDir, s.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l := label{Why: s.why, Good: true, Clients: s.clients, Both: s.both, Hidden: s.hidden}
	for _, verdict := range s.both {
		l.Good = l.Good && verdict != Violated
	}
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"label.json": append(text, '\n'), "history.jsonl": lines(t, s.history)}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := history.WriteJournal(filepath.Join(dir, "journal.jsonl"), accepted(s.history, s.journal...)); err != nil {
		t.Fatal(err)
	}
}

// lines are a history as its recorders would have written it.
func lines(t *testing.T, h *history.History) []byte {
	t.Helper()
	var events []history.Event
	for _, o := range h.Operations {
		in := history.Event{
			Type: history.TypeInvoke, Time: o.Call + 1, Op: o.ID, Process: o.Process, Worker: o.Worker, Client: o.Client, Resource: o.Resource,
			Kind: o.Kind, Basis: o.Basis,
		}
		out := history.Event{Type: history.TypeComplete, Time: o.Completed + 1, Op: o.ID, Outcome: o.Outcome, LeaseTTL: o.LeaseTTL}
		if o.LeaseCall != 0 || o.LeaseTTL != 0 {
			out.LeaseCall = o.LeaseCall + 1
		}
		switch o.Kind {
		case history.Acquire:
			out.Grant, out.Token = o.Grant, o.Token
		case history.Read, history.Claim:
			in.Grant, in.Token, out.WriteID = o.Grant, o.Token, o.WriteID
		default:
			in.Grant, in.Token, in.WriteID = o.Grant, o.Token, o.WriteID
		}
		events = append(events, in, out)
	}
	slices.SortStableFunc(events, func(a, b history.Event) int { return int(a.Time - b.Time) })
	events = append([]history.Event{{Type: history.TypeHeader, Time: 1, Header: &h.Header}}, events...)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, e := range events {
		if err := enc.Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}
