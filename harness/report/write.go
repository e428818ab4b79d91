// Package report makes the pages that people and CI jobs read, from a saved
// run folder alone. It shows verdicts and never makes one: whatever fails
// here, result.json stands.
package report

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/torture-harness/torture/harness/whole"
)

// Write renders the run folder dir: report.html, summary.md, junit.xml, and
// for each anomaly that was listed Porcupine's own picture,
// cells/*/porcupine/<resource>.html. What it can render it does, and then
// returns everything that went wrong, joined. The page is the last to be
// written, for it links to the others.
func Write(dir string) error {
	return guarded(func() error { return write(dir) })
}

// guarded turns a panic into an error. Evidence may be damaged in ways that
// nobody has thought of, and Porcupine's visualizer panics on what it does not
// expect; a run that has its verdict must not die of that.
func guarded(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Join(err, fmt.Errorf("report: this is a bug in the report, the result stands: %v", p))
		}
	}()
	return work()
}

func write(dir string) error {
	if IsClaims(dir) {
		return writeClaims(dir)
	}
	if IsExplore(dir) {
		return writeExplore(dir)
	}
	r, err := load(dir)
	if err != nil {
		return err
	}
	porcupines, errs := writePorcupines(dir, r)
	for _, file := range []struct {
		name   string
		render func(io.Writer) error
	}{
		{"summary.md", func(w io.Writer) error { return summary(w, r) }},
		{"junit.xml", func(w io.Writer) error { return junit(w, r) }},
		{"report.html", func(w io.Writer) error { return render(w, r, porcupines) }},
	} {
		if err := whole.File(filepath.Join(dir, file.name), file.render); err != nil {
			errs = append(errs, fmt.Errorf("report: %w", err))
		}
	}
	for _, c := range r.Cells {
		if c.Problem != "" {
			errs = append(errs, fmt.Errorf("report: %s under %s has no evidence to show: %s", c.Strategy, c.Fault, c.Problem))
		}
	}
	return errors.Join(errs...)
}
