package report

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/whole"
)

// How much of Porcupine is asked for: it draws a picture that a person looks
// at, and decides nothing here.
const (
	maxPorcupines   = 5               // per cell
	porcupineBudget = 2 * time.Second // per picture
)

// writePorcupines has Porcupine draw each resource on which an anomaly was
// listed. It returns the pictures by cell folder, as paths relative to the run
// folder, and what went wrong.
func writePorcupines(dir string, r *run) (map[string][]pair, []error) {
	pictures := map[string][]pair{}
	var errs []error
	for _, c := range r.Cells {
		listed := c.anomalies()
		if c.Problem != "" || len(listed) == 0 {
			continue
		}
		if err := c.History.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("report: nothing for Porcupine to draw: %w", err))
			continue
		}
		folder := filepath.Join(dir, c.Dir, "porcupine")
		if err := os.MkdirAll(folder, 0o755); err != nil {
			errs = append(errs, fmt.Errorf("report: %w", err))
			continue
		}
		for _, a := range listed {
			name := url.PathEscape(a.Resource) + ".html"
			err := whole.File(filepath.Join(folder, name), func(w io.Writer) error {
				return guarded(func() error { return c.porcupine(w, a) })
			})
			if err != nil {
				errs = append(errs, fmt.Errorf("report: %w", err))
				continue
			}
			path := url.URL{Path: c.Dir + "/porcupine/" + name}
			pictures[c.Dir] = append(pictures[c.Dir], pair{a.Resource, path.String()})
		}
	}
	return pictures, errs
}

// anomaly is a violation of a property that Porcupine has a model of.
type anomaly struct {
	checkers.Example
	property checkers.Property
}

// anomalies are the first of each resource, the strongest property first.
func (c *cell) anomalies() []anomaly {
	var out []anomaly
	for _, p := range []checkers.Property{checkers.Register, checkers.StaleOverwrite, checkers.FenceOrder, checkers.RMWAtomic} {
		f := c.Properties[p]
		if f.Verdict != checkers.Violated {
			continue
		}
		for _, e := range f.Examples {
			known := slices.ContainsFunc(out, func(a anomaly) bool { return a.Resource == e.Resource })
			if !known && len(out) < maxPorcupines {
				out = append(out, anomaly{e, p})
			}
		}
	}
	return out
}

func (c *cell) porcupine(w io.Writer, a anomaly) error {
	x, err := checkers.Explain(c.History, a.property, a.Example, porcupineBudget)
	if err != nil {
		return err
	}
	x.Info.AddAnnotations(annotations(c.scene(a.Resource), x))
	return porcupine.Visualize(x.Model, x.Info, w)
}

// annotations are what Porcupine does not know: who its clients are, when a
// worker was stopped, and whose lease lasted how long. The visualizer sets
// them as text, so they are not escaped.
func annotations(s *scene, x *checkers.Explanation) []porcupine.Annotation {
	var out []porcupine.Annotation
	from, to := x.From, x.From
	for _, op := range x.Operations {
		to = max(to, op.Call)
		if op.Return != history.Never {
			to = max(to, op.Return)
		}
	}
	at := func(ns int64) string { return seconds(ns - from) }
	for i, client := range x.Clients {
		out = append(out, porcupine.Annotation{ClientId: i, Start: from - 1, End: from - 1, Description: clip(client, 24), Details: client})
	}
	for _, p := range s.Pauses {
		if p.From >= to || p.To <= from {
			continue
		}
		did, how := "stopped", "all of its threads stopped"
		if p.Delay {
			did, how = "held", "its writes held in the network"
		}
		out = append(out, porcupine.Annotation{
			Tag: clip(p.Worker, 16) + " " + did, Start: max(p.From, from), End: min(p.To, to),
			Description: did, Details: fmt.Sprintf("%s: %s from %s to %s", p.Worker, how, at(p.From), at(min(p.To, to))),
			BackgroundColor: "#9aa3ad", TextColor: "#000",
		})
	}
	for _, t := range s.ordered() {
		start, end, ok := t.lease()
		if t.Release != nil {
			end = min(end, t.Release.Call)
		}
		if !ok || start >= to || end <= from {
			continue
		}
		text := "lease"
		if t.token() > 0 {
			text = fmt.Sprintf("lease, token %d", t.token())
		}
		out = append(out, porcupine.Annotation{
			Tag: clip(t.Worker, 16) + " lease", Start: max(start, from), End: min(end, to),
			Description: text, Details: fmt.Sprintf("%s: %s to %s, then run out or given back", t.Worker, at(start), at(end)),
			BackgroundColor: "#f3d9a4", TextColor: "#000",
		})
	}
	return out
}
