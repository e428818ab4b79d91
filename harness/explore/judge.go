package explore

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/explore/view"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
	"github.com/torture-harness/torture/workloads"
)

// Ran says how one schedule was run: what its history does not tell.
type Ran struct {
	ID    string `json:"id"`
	Tries []Try  `json:"tries"` // the last one counts
}

// Try is one run of a schedule.
type Try struct {
	Resource string `json:"resource"`
	Why      string `json:"why,omitempty"` // it came to no end, or did not run as planned
}

// judgement is one cell while it is judged.
type judgement struct {
	plan    CellPlan
	model   Model
	program Program
	locked  bool
	views   map[string]*history.History
	journal map[string][]history.JournalEntry
}

// JudgeCell judges the saved files of one strategy: plan.json, ran.json,
// history.jsonl, journal.jsonl. An error is one of a file.
func JudgeCell(ctx context.Context, dir string) (result.Explored, error) {
	out := result.Explored{Status: checkers.Errored, Counts: map[result.Class]int{}, Schedules: []result.Schedule{}}
	j := judgement{journal: map[string][]history.JournalEntry{}}
	if err := readJSON(filepath.Join(dir, "plan.json"), &j.plan); err != nil {
		return out, err
	}
	if j.plan.Schema != PlanSchema {
		return out, fmt.Errorf("%s: schema %q; this version reads %q", filepath.Join(dir, "plan.json"), j.plan.Schema, PlanSchema)
	}
	out.Strategy, out.Contract = j.plan.Strategy, j.plan.Contract
	if err := j.plan.Contract.Validate(); err != nil {
		return out, fmt.Errorf("%s: %w", filepath.Join(dir, "plan.json"), err)
	}
	s, err := workloads.Find(j.plan.Strategy)
	if err != nil {
		return out, fmt.Errorf("%s: %w", filepath.Join(dir, "plan.json"), err)
	}
	if j.model, err = ModelOf(s); err != nil {
		return out, fmt.Errorf("%s: %w", filepath.Join(dir, "plan.json"), err)
	}
	j.program, j.locked = ProgramOf(s), s.Locked()
	for _, kind := range j.program {
		out.Steps = append(out.Steps, string(kind))
	}
	out.Locker, out.Guard = s.Locker.Name, s.Guard.Name
	plain, inFlight := j.program.Space(j.plan.Clients)
	out.Space, out.InFlight = plain+inFlight, inFlight

	var ran []Ran
	if err := readJSON(filepath.Join(dir, "ran.json"), &ran); err != nil {
		return out, err
	}
	path := filepath.Join(dir, "history.jsonl")
	h, err := history.ReadFile(path)
	if err != nil {
		return out, err
	}
	if h.Header.Strategy != j.plan.Strategy || h.Header.Run != j.plan.Run {
		return out, fmt.Errorf("%s:1: it is of %s, run %s, and plan.json beside it of %s, run %s: they do not belong together", path, h.Header.Strategy, h.Header.Run, j.plan.Strategy, j.plan.Run)
	}
	entries, err := history.ReadJournal(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		return out, err
	}
	for _, e := range entries {
		j.journal[e.Resource] = append(j.journal[e.Resource], e)
	}
	j.views = view.Of(h)
	return out, j.all(ctx, ran, &out)
}

func readJSON(path string, into any) error {
	data, err := history.ReadSaved(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// all judges every schedule of the plan, as many at once as there are cores.
func (j *judgement) all(ctx context.Context, ran []Ran, out *result.Explored) error {
	tries := map[string][]Try{}
	for _, r := range ran {
		tries[r.ID] = r.Tries
	}
	out.Schedules = make([]result.Schedule, len(j.plan.Schedules))
	errs := make([][]string, len(j.plan.Schedules)) // of the harness, or broken promises of tries that do not count
	failures := make([]error, len(j.plan.Schedules))
	var judging sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, id := range j.plan.Schedules {
		free <- struct{}{}
		judging.Go(func() {
			defer func() { <-free }()
			out.Schedules[i], errs[i], failures[i] = j.schedule(ctx, id, tries[id])
		})
	}
	judging.Wait()
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	j.sum(out, slices.Concat(errs...))
	return nil
}

// schedule judges one schedule: whether it ran as planned, what became of its
// properties, and whether that is what the model says.
func (j *judgement) schedule(ctx context.Context, id string, tries []Try) (out result.Schedule, broken []string, err error) {
	moves, err := j.program.Moves(id)
	if err != nil {
		return out, nil, err
	}
	f := j.model.Forecast(moves)
	out = result.Schedule{ID: id, Group: f.groupOf(j.locked), Predicted: f.Class(), Class: result.Impossible, Tries: len(tries),
		Verdicts: map[checkers.Property]checkers.Verdict{}, Examples: map[checkers.Property]checkers.Example{}}
	for i, try := range tries {
		v := j.views[try.Resource]
		if v == nil {
			return out, nil, fmt.Errorf("schedule %s ran on %q, which the history does not have", id, try.Resource)
		}
		found, err := checkers.Judge(ctx, v, j.entries(try.Resource), checkers.Config{Contract: harmless, MinExposures: 1, Budget: budget})
		if err != nil {
			return out, nil, err
		}
		if found.Status == checkers.Errored {
			broken = append(broken, fmt.Sprintf("%s: the history contradicts itself: %s", id, found.Reasons[0]))
		}
		if i == len(tries)-1 {
			j.report(&out, f, v, try, found)
			continue
		}
		for property, finding := range found.Findings {
			if finding.Verdict == checkers.Violated && j.plan.Contract[property] == checkers.Promised {
				broken = append(broken, fmt.Sprintf("%s%s: try %d did not run as planned, and violated %s", promise, id, i+1, property))
			}
		}
	}
	if len(tries) == 0 {
		out.Reasons = []string{"it was not run"}
	}
	return out, broken, nil
}

// promise marks a broken promise among what else is broken.
const promise = "promise: "

// harmless: what a schedule comes to is decided over all of them. Only that the
// store keeps what it has acknowledged is the ground on which all stands.
var harmless = checkers.Contract{checkers.Durability: checkers.Promised}

// budget is for judging one schedule. It has some ten operations.
const budget = 20 * time.Second

func (j *judgement) entries(resource string) []history.JournalEntry {
	if entries := j.journal[resource]; entries != nil {
		return entries
	}
	return []history.JournalEntry{} // nothing was accepted, and the journal says so
}

// report fills in what a schedule came to.
func (j *judgement) report(out *result.Schedule, f Forecast, v *history.History, try Try, found checkers.Judgement) {
	out.Resource = try.Resource
	e := f.gather(v)
	x := f.examine(e)
	if try.Why != "" {
		x.unplanned = append([]string{try.Why}, slices.DeleteFunc(x.unplanned, func(s string) bool { return s == try.Why })...)
	}
	out.AsPlanned, out.Reasons, out.Differs = len(x.unplanned) == 0, x.unplanned, x.differs
	refused := false
	for i, b := range f.Beats {
		m := result.MoveResult{Client: Name(b.Client), Do: string(b.Do), Phase: string(b.Phase), Predicted: string(b.Outcome)}
		if b.Stop >= 0 {
			m.Stopped = Name(b.Stop)
		}
		if b.Phase != Sent {
			m.Outcome, m.Saw = string(e.took[i].outcome), e.took[i].saw
		}
		if e.took[i].op == "" {
			m.Outcome = string(Skipped)
		}
		refused = refused || m.Outcome == string(history.Rejected) || m.Outcome == string(Skipped)
		out.Moves = append(out.Moves, m)
	}
	violated := map[checkers.Property]bool{}
	for property, finding := range found.Findings {
		verdict := finding.Verdict
		if verdict == checkers.Vacuous { // what is risked is what the schedule is
			verdict = checkers.Holds
		}
		out.Verdicts[property] = verdict
		if verdict == checkers.Violated {
			violated[property] = true
			if len(finding.Examples) > 0 {
				out.Examples[property] = finding.Examples[0]
			}
		}
	}
	if !out.AsPlanned {
		return
	}
	out.Class = classOf(violated, refused)
	for _, property := range Layered {
		if verdict := out.Verdicts[property]; verdict == checkers.Undecided || verdict == checkers.NotApplicable {
			continue
		}
		if violated[property] != f.Violated[property] {
			out.Differs = append(out.Differs, fmt.Sprintf("the model says that %s %s, and it %s", property, words(f.Violated[property]), words(violated[property])))
		}
	}
}

func words(violated bool) string {
	if violated {
		return "is violated"
	}
	return "holds"
}

// sum counts, and says what the strategy comes to: every promise is kept in every
// schedule, and each violation that is predicted occurs where the model says so.
func (j *judgement) sum(out *result.Explored, broken []string) {
	statuses := []checkers.Status{checkers.Pass}
	add := func(s checkers.Status, format string, args ...any) {
		statuses = append(statuses, s)
		out.Reasons = append(out.Reasons, fmt.Sprintf(format, args...))
	}
	for _, why := range broken {
		if text, ok := strings.CutPrefix(why, promise); ok {
			add(checkers.Failed, "%s", text)
		} else {
			add(checkers.Errored, "%s", why)
		}
	}
	expected := map[checkers.Property]bool{} // a violation, by the model, in what was run
	var impossible, differ []result.Schedule
	for _, s := range out.Schedules {
		out.Counts[s.Class]++
		if s.Tries > 1 {
			out.Again++
		}
		if !s.AsPlanned {
			impossible = append(impossible, s)
		}
		if len(s.Differs) > 0 {
			differ = append(differ, s)
		}
		if moves, err := j.program.Moves(s.ID); err == nil {
			for property, violated := range j.model.Forecast(moves).Violated {
				expected[property] = expected[property] || violated
			}
		}
	}
	out.Differ = len(differ)
	for _, property := range checkers.Properties {
		var hit, open []result.Schedule
		for _, s := range out.Schedules {
			switch s.Verdicts[property] {
			case checkers.Violated:
				hit = append(hit, s)
			case checkers.Undecided:
				open = append(open, s)
			}
		}
		switch out.Contract[property] {
		case checkers.Promised:
			if len(hit) > 0 && property != checkers.Register && property != checkers.Durability { // those are errors of the harness
				add(checkers.Failed, "%s is promised, and %s: %s", property, in(hit, "violates it", "violate it"), hit[0].Examples[property].Text)
			}
			if len(open) > 0 {
				add(checkers.Inconclusive, "%s is promised, and undecided in %s", property, list(open))
			}
		case checkers.Predicted:
			if len(hit) == 0 && expected[property] {
				add(checkers.Inconclusive, "a violation of %s is predicted, and none of %d schedules has one: the harness was blind", property, len(out.Schedules))
			}
		}
	}
	if len(differ) > 0 {
		add(checkers.Inconclusive, "model and servers differ: %s; %s: %s", in(differ, "is not what the model says", "are not what the model says"), differ[0].ID, differ[0].Differs[0])
	}
	if len(impossible) > 0 {
		add(checkers.Inconclusive, "%s; %s: %s", in(impossible, "did not run as planned", "did not run as planned"), impossible[0].ID, impossible[0].Reasons[0])
	}
	out.Status = checkers.Combine(statuses...)
}

// in counts schedules, with a verb, and names the first of them.
func in(all []result.Schedule, one, several string) string {
	if len(all) == 1 {
		return "schedule " + all[0].ID + " " + one
	}
	return fmt.Sprintf("%d schedules (%s) %s", len(all), list(all), several)
}

// list names the first few schedules.
func list(all []result.Schedule) string {
	const most = 4
	var ids []string
	for _, s := range all {
		if len(ids) == most {
			ids = append(ids, "…")
			break
		}
		ids = append(ids, s.ID)
	}
	return strings.Join(ids, ", ")
}
