package report

import (
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/explore/view"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
	"github.com/torture-harness/torture/harness/whole"
)

// schedulePageData is what the template of one schedule is given.
type schedulePageData struct {
	exploreCell
	Strategy string
	About    string
	Style    template.CSS
	Stories  []story
	Locked   bool
	Etcd     bool
	Verdicts []pair
	Back     string // to the grid
	History  string
	Replay   string
}

// writeSchedules writes the page of each schedule: its story and its picture.
// What can be rendered is; the errors are those of what cannot.
func writeSchedules(dir string, res result.Explore) (errs []error) {
	for _, e := range res.Strategies {
		if !filepath.IsLocal(e.Dir) {
			errs = append(errs, fmt.Errorf("report: the folder of %s, %q, is not inside the run’s", e.Strategy, clip(e.Dir, 80)))
			continue
		}
		if err := writeStrategy(dir, e); err != nil {
			errs = append(errs, fmt.Errorf("report: %s has no evidence to show: %w", e.Strategy, err))
		}
	}
	return errs
}

func writeStrategy(dir string, e result.Explored) error {
	h, err := history.ReadFile(filepath.Join(dir, e.Dir, "history.jsonl"))
	if err != nil {
		return err
	}
	entries, err := history.ReadJournal(filepath.Join(dir, e.Dir, "journal.jsonl"))
	if err != nil {
		return err
	}
	journal := map[string][]history.JournalEntry{}
	for _, entry := range entries {
		journal[entry.Resource] = append(journal[entry.Resource], entry)
	}
	if err := os.MkdirAll(filepath.Join(dir, e.Dir, "schedules"), 0o755); err != nil {
		return err
	}
	views := view.Of(h)
	errs := make([]error, len(e.Schedules))
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	var writing sync.WaitGroup
	for i, one := range e.Schedules {
		v := views[one.Resource]
		if v == nil || !filepath.IsLocal(one.ID) {
			continue // it was not run
		}
		free <- struct{}{}
		writing.Go(func() {
			defer func() { <-free }()
			errs[i] = guarded(func() error {
				return whole.File(filepath.Join(dir, schedulePage(e, one)), func(w io.Writer) error { return renderSchedule(w, dir, e, one, v, journal[one.Resource]) })
			})
		})
	}
	writing.Wait()
	for _, err := range errs {
		if err != nil { // one speaks for all
			return err
		}
	}
	return nil
}

func renderSchedule(w io.Writer, dir string, e result.Explored, one result.Schedule, v *history.History, journal []history.JournalEntry) error {
	c := &cell{Cell: result.Cell{Strategy: e.Strategy, Fault: "explore", Dir: e.Dir, Properties: map[checkers.Property]checkers.Finding{}}, History: v, Journal: journal, scenes: map[string]*scene{}}
	p := schedulePageData{exploreCell: cellOf(dir, e, one), Strategy: e.Strategy, About: describe(history.Header{Locker: lockerOf(e), Guard: e.Guard}),
		Style: template.CSS(pageStyle), Locked: e.Locker != "", Etcd: v.Header.LeaseBy == "etcd", Back: "../../../report.html#" + anchor(e.Strategy),
		History: "../history.jsonl", Replay: pasted(fmt.Sprintf("torture replay %s --schedule %s/%s", commandPath(dir), e.Strategy, one.ID))}
	for _, property := range checkers.Properties {
		verdict, ok := one.Verdicts[property]
		if !ok {
			continue
		}
		f := checkers.Finding{Verdict: verdict, Contract: e.Contract[property]}
		if example, ok := one.Examples[property]; ok {
			f.Examples, f.Count = []checkers.Example{example}, 1
		}
		c.Properties[property] = f
		p.Verdicts = append(p.Verdicts, pair{string(property), string(verdict)})
	}
	p.Stories = tell(c)
	if len(p.Stories) == 0 {
		p.Stories = append(p.Stories, wholeStory(c, one))
	}
	return exploreTemplate.ExecuteTemplate(w, "schedule", p)
}

// wholeStory tells all that happened in a schedule: no single thing in it stands
// out.
func wholeStory(c *cell, one result.Schedule) story {
	s := c.scene(one.Resource)
	st := story{Tone: classTones[one.Class], Resource: one.Resource, Title: "Nothing was lost", Moral: "No update was lost."}
	switch one.Class {
	case result.Impossible:
		st.Title, st.Moral = "It did not run as planned", ""
	case result.Refused:
		st.Title, st.Moral = "The late client was refused", "It was told that its time was over, and did not write."
	}
	turns := s.ordered()
	st.Steps = s.steps(turns, nil)
	for _, t := range turns {
		for _, op := range t.Ops {
			switch {
			case op.Kind == history.Check, op.Kind == history.Renew, op.Kind == history.Draw, op.Kind == history.Release:
				st.Steps = append(st.Steps, s.step(op, false))
			}
		}
	}
	if len(st.Steps) == 0 {
		return st
	}
	return st.finish(s, turns, cast{})
}
