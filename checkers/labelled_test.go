package checkers

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
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
	Format  string               `json:"format"`
	Source  string               `json:"source"` // made, real
	Why     string               `json:"why"`
	Good    bool                 `json:"good"`    // nothing named here is violated
	Clients map[Property]Verdict `json:"clients"` // without the journal
	Both    map[Property]Verdict `json:"with_journal"`
	Hidden  int                  `json:"hidden_from_clients"`

	Reasons  map[Property]string   `json:"reasons,omitempty"`
	Culprits map[Property][]string `json:"culprits,omitempty"` // operation ids
}

// labelFormat is the version of the format, see ../testdata/README.md.
const labelFormat = "torture/labelled/1"

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
			strict := json.NewDecoder(bytes.NewReader(text))
			strict.DisallowUnknownFields()
			if err := strict.Decode(&l); err != nil {
				t.Fatal(err)
			}
			if l.Format != labelFormat || l.Why == "" {
				t.Errorf("format %q, want %q, and a reason", l.Format, labelFormat)
			}
			hist, err := readLabelled(dir)
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
			bad := false
			for p, want := range l.Both {
				bad = bad || want == Violated
				if l.Source == "real" && l.Reasons[p] == "" {
					t.Errorf("no reason for %s", p)
				}
			}
			if l.Good == bad {
				t.Errorf("good is %v", l.Good)
			}
			for p, ids := range l.Culprits {
				var got []string
				for _, x := range j.Findings[p].Examples {
					got = append(got, x.Culprit)
				}
				for _, id := range ids {
					if !slices.Contains(got, id) {
						t.Errorf("%s: %q is not to blame, but %q", p, id, got)
					}
				}
			}
		})
	}
}

// readLabelled reads a history, which may be compressed.
func readLabelled(dir string) (*history.History, error) {
	path := filepath.Join(dir, "history.jsonl")
	packed, err := os.Open(path + ".gz")
	if errors.Is(err, fs.ErrNotExist) {
		return history.ReadFile(path)
	}
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	text, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	return history.Parse(text, path)
}

func save(t *testing.T, s situation) {
	t.Helper()
	dir := filepath.Join(labelledDir, s.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l := label{Format: labelFormat, Source: "made", Why: s.why, Good: true, Clients: s.clients, Both: s.both, Hidden: s.hidden}
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
