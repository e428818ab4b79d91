package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/torture-harness/torture/checkers"
)

// label is label.json, see testdata/README.md.
type label struct {
	Format  string                                 `json:"format"`
	Source  string                                 `json:"source"`
	Why     string                                 `json:"why"`
	Good    bool                                   `json:"good"`
	Clients map[checkers.Property]checkers.Verdict `json:"clients"`
	Both    map[checkers.Property]checkers.Verdict `json:"with_journal"`
	Hidden  int                                    `json:"hidden_from_clients"`
	Reasons map[checkers.Property]string           `json:"reasons"`
	Culprit map[checkers.Property][]string         `json:"culprits,omitempty"`
}

func (p *piece) save(to string) error {
	l := label{
		Format: "torture/labelled/1", Source: "real", Good: true, Hidden: p.both.HiddenFromClients,
		Clients: map[checkers.Property]checkers.Verdict{}, Both: map[checkers.Property]checkers.Verdict{},
		Reasons: map[checkers.Property]string{}, Culprit: map[checkers.Property][]string{},
	}
	var violated []string
	for _, property := range checkers.Properties {
		f := p.both.Findings[property]
		l.Clients[property], l.Both[property] = plain(p.clients.Findings[property].Verdict), plain(f.Verdict)
		l.Reasons[property] = reason(f)
		if f.Verdict == checkers.Violated {
			violated = append(violated, string(property))
			l.Good = false
			for _, x := range f.Examples {
				if x.Culprit != "" {
					l.Culprit[property] = append(l.Culprit[property], x.Culprit)
				}
			}
		}
	}
	l.Why = fmt.Sprintf("Strategy %s (lock: %s, guard: %s) under fault %s, as a real run recorded it: %d updates, %d refused, %d of unknown outcome, %d pauses.",
		p.header.Strategy, p.header.Locker, p.header.Guard, p.header.Fault, p.both.Updates, p.both.Refused, p.both.Unknown, p.both.Pauses)
	if len(violated) > 0 {
		l.Why += " Violated: " + strings.Join(violated, ", ") + "."
	} else {
		l.Why += " Nothing is violated."
	}
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return writeAll(filepath.Join(to, p.name), map[string][]byte{
		"history.jsonl.gz": p.packed, "journal.jsonl": p.journal, "label.json": append(text, '\n'),
	})
}

// plain: a property that was never at risk holds, as far as a label is concerned.
func plain(v checkers.Verdict) checkers.Verdict {
	if v == checkers.Vacuous {
		return checkers.Holds
	}
	return v
}

// reason is a sentence about one property.
func reason(f checkers.Finding) string {
	switch f.Verdict {
	case checkers.Violated:
		text := f.Examples[0].Text
		if f.Count > 1 {
			text += fmt.Sprintf(" (the first of %d)", f.Count)
		}
		return text
	case checkers.NotApplicable:
		return f.Reason
	case checkers.Vacuous:
		return "it was never at risk"
	}
	return fmt.Sprintf("it was at risk %s and held", times(f.Exposures))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
