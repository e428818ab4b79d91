package report

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
	"github.com/torture-harness/torture/harness/whole"
)

//go:embed explore.html
var exploreText string

// The pages of an exploration use the pictures of the other page.
var exploreTemplate = template.Must(template.Must(pageTemplate.Clone()).New("explore").Funcs(template.FuncMap{
	"add": func(a, b int) int { return a + b },
}).Parse(exploreText))

// IsExplore reports whether a folder holds an exploration.
func IsExplore(dir string) bool { return schemaOf(dir) == result.ExploreSchema }

// schemaOf is the schema of a folder's result.json, "" if it has none.
func schemaOf(dir string) string {
	var head struct {
		Schema string `json:"schema"`
	}
	data, err := history.ReadSaved(filepath.Join(dir, "result.json"))
	if err != nil || json.Unmarshal(data, &head) != nil {
		return ""
	}
	return head.Schema
}

// ReadExplore reads the result of an exploration.
func ReadExplore(dir string) (result.Explore, error) {
	var res result.Explore
	path := filepath.Join(dir, "result.json")
	data, err := history.ReadSaved(path)
	if err != nil {
		return res, err
	}
	if err := json.Unmarshal(data, &res); err != nil {
		return res, fmt.Errorf("%s: no result: %w", path, err)
	}
	if res.Schema != result.ExploreSchema {
		return res, fmt.Errorf("%s: schema %q; this version reads %q", path, res.Schema, result.ExploreSchema)
	}
	return res, nil
}

// explorePage is what the template of the grid is given.
type explorePage struct {
	result.Explore
	Style    template.CSS
	Sections []exploreSection
	Total    int
	Differ   int
	Columns  []string // the points at which somebody was stopped
	Servers  []pair
	Replay   string
	Check    string
}

// exploreSection is one strategy.
type exploreSection struct {
	result.Explored
	About  string
	Chips  []exploreChip
	Groups []exploreGroup
}

type exploreChip struct {
	N    int
	Text string
	Tone tone
}

// exploreGroup is the schedules in which the holder was stopped at one point.
type exploreGroup struct {
	Name  string
	Note  string
	Cells []exploreCell
	Open  int // stale overwrites
}

// exploreGap is what came of the schedules of one point, in a few words.
type exploreGap struct {
	Of    int
	Tone  tone
	Parts []exploreChip
}

// Gaps are those of a strategy, one for each of the columns.
func (s exploreSection) Gaps(columns []string) []exploreGap {
	gaps := make([]exploreGap, len(columns))
	for i, name := range columns {
		for _, g := range s.Groups {
			if g.Name == name {
				gaps[i] = g.gap()
			}
		}
	}
	return gaps
}

// gap counts what went wrong in a group; where nothing did, what was refused.
func (g exploreGroup) gap() exploreGap {
	n := map[result.Class]int{}
	for _, c := range g.Cells {
		n[c.Class]++
	}
	out := exploreGap{Of: len(g.Cells), Tone: good}
	for _, class := range result.Classes {
		if t := classTones[class]; n[class] > 0 && t != good && t != quiet {
			if len(out.Parts) == 0 {
				out.Tone = t
			}
			out.Parts = append(out.Parts, exploreChip{n[class], classWords[class], t})
		}
	}
	return out
}

// exploreCell is one schedule as a small cell: a row for each client.
type exploreCell struct {
	result.Schedule
	Page  string // its story
	Tone  tone
	Steps []exploreStep
	Title string
}

// exploreStep is one move in the grid.
type exploreStep struct {
	Column, Row int
	Letter      string
	Class       string
	Stopped     int // the row of who is stopped for it, 0 for nobody
	Until       int // the column in which that client goes on
}

// tones of the classes.
var classTones = map[result.Class]tone{
	result.LockViolated: bad, result.Stale: bad, result.LostUpdate: warn, result.LateOnNewest: quiet, result.Refused: good, result.Clean: good, result.Impossible: unsure,
}

// classWords are the classes in the words of the page.
var classWords = map[result.Class]string{
	result.LockViolated: "lock granted to two at once", result.Stale: "newer data overwritten", result.LostUpdate: "update lost",
	result.LateOnNewest: "late write, on the newest data", result.Refused: "late client refused", result.Clean: "clean", result.Impossible: "not run as planned",
}

// stepLetters are the steps in the grid.
var stepLetters = map[history.Kind]string{
	history.Acquire: "a", history.Draw: "d", history.Read: "r", history.Claim: "c", history.Renew: "n", history.Check: "k", history.Write: "w", history.Release: "e",
}

// groupNotes say what the groups are.
var groupNotes = map[string]string{
	result.StoppedAfterAcquire: "it had the lock and had read nothing",
	result.StoppedAfterDraw:    "its token was drawn",
	result.StoppedAfterRead:    "it had read and had not sent its write",
	result.StoppedAfterRenew:   "it had renewed its lease and had not sent its write",
	result.StoppedAfterCheck:   "it had made sure of its lock and had not sent its write",
	result.StoppedInFlight:     "its write was sent and held in the network",
	result.StoppedAfterWrite:   "its write was answered",
	result.NobodyStopped:       "one gave the lock back before the other wanted it",
	result.NoLock:              "nobody waits for anybody",
}

// writeExplore writes the report of an exploration: the grid, and a page for each
// schedule.
func writeExplore(dir string) error {
	res, err := ReadExplore(dir)
	if err != nil {
		return err
	}
	errs := writeSchedules(dir, res)
	for name, render := range map[string]func(io.Writer, result.Explore) error{
		"report.html": func(w io.Writer, res result.Explore) error { return renderExplore(w, dir, res) },
		"summary.md":  ExploreMarkdown, "junit.xml": exploreJUnit,
	} {
		if err := whole.File(filepath.Join(dir, name), func(w io.Writer) error { return render(w, res) }); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func renderExplore(w io.Writer, dir string, res result.Explore) error {
	p := explorePage{Explore: res, Style: template.CSS(pageStyle), Servers: sorted(res.Versions), Replay: pasted(res.Command), Check: pasted("torture check " + commandPath(dir))}
	for _, e := range res.Strategies {
		p.Total += len(e.Schedules)
		p.Differ += e.Differ
		p.Sections = append(p.Sections, sectionOf(dir, e))
	}
	for _, name := range result.Groups {
		if slices.ContainsFunc(p.Sections, func(s exploreSection) bool {
			return slices.ContainsFunc(s.Groups, func(g exploreGroup) bool { return g.Name == name })
		}) {
			p.Columns = append(p.Columns, name)
		}
	}
	return exploreTemplate.ExecuteTemplate(w, "grid", p)
}

func sectionOf(dir string, e result.Explored) exploreSection {
	s := exploreSection{Explored: e, About: describe(history.Header{Locker: lockerOf(e), Guard: e.Guard})}
	for _, class := range result.Classes {
		if n := e.Counts[class]; n > 0 {
			s.Chips = append(s.Chips, exploreChip{n, classWords[class], classTones[class]})
		}
	}
	for _, name := range result.Groups {
		g := exploreGroup{Name: name, Note: groupNotes[name]}
		for _, one := range e.Schedules {
			if one.Group != name {
				continue
			}
			g.Cells = append(g.Cells, cellOf(dir, e, one))
			if one.Class == result.Stale {
				g.Open++
			}
		}
		if len(g.Cells) > 0 {
			s.Groups = append(s.Groups, g)
		}
	}
	return s
}

func lockerOf(e result.Explored) string {
	if e.Locker == "" {
		return "none"
	}
	return e.Locker
}

func cellOf(dir string, e result.Explored, one result.Schedule) exploreCell {
	c := exploreCell{Schedule: one, Tone: classTones[one.Class], Title: one.ID + ": " + classWords[one.Class]}
	if len(one.Differs) > 0 {
		c.Title += "; not what the model says"
	}
	path := schedulePage(e, one)
	if _, err := os.Stat(filepath.Join(dir, path)); err == nil {
		c.Page = path
	}
	for i, m := range one.Moves {
		row := int(m.Client[0]-'A') + 1
		step := exploreStep{Column: i + 1, Row: row, Letter: stepLetters[history.Kind(m.Do)], Class: fmt.Sprintf("a%d", row-1)}
		switch {
		case m.Outcome == "skipped":
			step.Class += " skipped"
		case m.Phase == "sent":
			step.Letter, step.Class = "›", step.Class+" sent"
		case m.Outcome != string(history.OK):
			step.Class += " refused"
		}
		if m.Stopped != "" {
			step.Stopped, step.Until = int(m.Stopped[0]-'A')+1, len(one.Moves)+1
			if j := slices.IndexFunc(one.Moves[i:], func(next result.MoveResult) bool { return next.Client == m.Stopped }); j >= 0 {
				step.Until = i + j + 1
			}
		}
		c.Steps = append(c.Steps, step)
	}
	return c
}

// schedulePage is the page of a schedule, relative to the run folder.
func schedulePage(e result.Explored, one result.Schedule) string {
	return filepath.Join(e.Dir, "schedules", one.ID+".html")
}

// ExploreMarkdown is the table of all strategies, for a job's summary.
func ExploreMarkdown(w io.Writer, res result.Explore) error {
	var b strings.Builder
	fmt.Fprintf(&b, "| strategy | schedules |")
	for _, class := range result.Classes {
		fmt.Fprintf(&b, " %s |", class)
	}
	fmt.Fprintf(&b, " model and servers differ | status |\n|---|---|%s---|---|\n", strings.Repeat("---|", len(result.Classes)))
	for _, e := range res.Strategies {
		fmt.Fprintf(&b, "| %s | %s of %s |", cellText(e.Strategy), count(len(e.Schedules)), count(int(e.Space)))
		for _, class := range result.Classes {
			fmt.Fprintf(&b, " %s |", count(e.Counts[class]))
		}
		fmt.Fprintf(&b, " %s | %s |\n", count(e.Differ), e.Status)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// exploreJUnit writes one case for each strategy. One that is inconclusive is an
// error and not skipped: nothing undecided is ever green.
func exploreJUnit(w io.Writer, res result.Explore) error {
	suite := junitSuite{Name: "torture " + res.Name, Tests: len(res.Strategies), Time: fmt.Sprintf("%.3f", res.Seconds), Stamp: res.Started,
		Values: []junitPair{{"seed", fmt.Sprint(res.Seed)}, {"provider", res.Provider}, {"command", res.Command}}}
	for _, e := range res.Strategies {
		one := junitCase{Class: "torture.explore", Name: e.Strategy, Time: fmt.Sprintf("%.3f", e.Seconds)}
		text := &junitText{Type: string(e.Status), Message: clip(strings.Join(e.Reasons, "; "), 1000), Text: strings.Join(e.Reasons, "\n")}
		suite.add(one, text, e.Status)
	}
	if len(res.Errors) > 0 {
		suite.Tests++
		text := &junitText{Type: string(res.Status), Message: clip(strings.Join(res.Errors, "; "), 1000)}
		suite.add(junitCase{Class: "torture.explore", Name: "the run"}, text, checkers.Errored)
	}
	return writeJUnit(w, suite)
}
