package explore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness"
	"github.com/torture-harness/torture/harness/report"
	"github.com/torture-harness/torture/harness/result"
)

// quiet is a Progress for tests.
type quiet struct {
	t         *testing.T
	schedules func()
}

func (q quiet) Say(format string, args ...any) { q.t.Logf(format, args...) }
func (q quiet) Schedules(string, int, int) {
	if q.schedules != nil {
		q.schedules()
	}
}
func (q quiet) Explored(e result.Explored) {
	q.t.Logf("%s: %s: %s %v", e.Strategy, e.Status, Sentence(e), e.Reasons)
}

func classes(res result.Explore) map[string]result.Class {
	out := map[string]result.Class{}
	for _, e := range res.Strategies {
		for _, s := range e.Schedules {
			out[e.Strategy+"/"+s.ID] = s.Class
		}
	}
	return out
}

// A few schedules on real servers: what is known of them comes out, is judged
// again to the same, and can be replayed.
func TestRun(t *testing.T) {
	for _, one := range []struct {
		name    string
		clients int
		expiry  string
		only    []Chosen
		want    map[string]result.Class
	}{
		{"two clients", 2, Natural, []Chosen{
			{"setnx", []string{"AAAABBBB", "AABBBBAA", "AABBAABB", "AAaBBBBAA"}},
			{"setnx-check", []string{"AABBBBBAAA"}},
			{"version-cas", []string{"ABBA", "AaBBA"}},
		}, map[string]result.Class{
			"setnx/AAAABBBB": result.Clean, "setnx/AABBBBAA": result.Stale, "setnx/AABBAABB": result.LostUpdate, "setnx/AAaBBBBAA": result.Stale,
			"setnx-check/AABBBBBAAA": result.Refused, "version-cas/ABBA": result.Refused, "version-cas/AaBBA": result.Refused,
		}},
		{"three clients, forced expiry", 3, Forced, []Chosen{
			{"etcd-fenced", []string{"AABBACABCBCC"}},
			{"redlock", []string{"AABBBBAACCCC"}},
			{"planted-first-write", []string{"AAABBBBBAACCCCC"}},
		}, map[string]result.Class{
			"etcd-fenced/AABBACABCBCC": result.LostUpdate, "redlock/AABBBBAACCCC": result.Stale, "planted-first-write/AAABBBBBAACCCCC": result.Stale,
		}},
	} {
		t.Run(one.name, func(t *testing.T) {
			o := Options{Only: one.only, Clients: one.clients, Expiry: one.expiry, Seed: 1, Provider: "process", Results: t.TempDir()}
			res, dir, err := Run(context.Background(), o, quiet{t: t})
			if err != nil {
				t.Fatal(err)
			}
			for id, class := range classes(res) {
				if class != one.want[id] {
					t.Errorf("%s: %s, not %s", id, class, one.want[id])
				}
			}
			for _, e := range res.Strategies {
				want := checkers.Pass
				if strings.HasPrefix(e.Strategy, "planted") {
					want = checkers.Failed
				}
				if e.Status != want {
					t.Errorf("%s: %s: %v", e.Strategy, e.Status, e.Reasons)
				}
				for _, s := range e.Schedules {
					page, err := os.ReadFile(filepath.Join(dir, e.Dir, "schedules", s.ID+".html"))
					if err != nil || !strings.Contains(string(page), "<svg") {
						t.Errorf("the page of %s: %v", s.ID, err)
					}
				}
			}
			again, err := Check(context.Background(), dir)
			if err != nil || again.Status != res.Status {
				t.Errorf("judged again: %s, %v", again.Status, err)
			}
			for id, class := range classes(again) {
				if class != one.want[id] {
					t.Errorf("judged again, %s: %s, not %s", id, class, one.want[id])
				}
			}
			plan, err := ReadPlan(dir, "")
			if err != nil || len(plan.Strategies) != len(one.only) || plan.Clients != one.clients || plan.Expiry != one.expiry {
				t.Errorf("its plan: %+v, %v", plan, err)
			}
		})
	}
}

// An interruption ends an exploration in order: what was run is judged, and the
// rest is not called explored.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	res, dir, err := Run(ctx, Options{Strategies: []string{"version-cas"}, Seed: 1, Parallel: 1, Provider: "process", Results: t.TempDir()}, quiet{t, cancel})
	if !errors.Is(err, harness.ErrInterrupted) || res.Status != checkers.Inconclusive || dir == "" {
		t.Fatalf("%s, %v", res.Status, err)
	}
	count := map[result.Class]int{}
	for _, class := range classes(res) {
		count[class]++
	}
	if count[result.Impossible] == 0 || count[result.Impossible] == 7 {
		t.Errorf("of an exploration that was interrupted: %v", count)
	}
	if again, err := Check(context.Background(), dir); err != nil || again.Status != checkers.Inconclusive {
		t.Errorf("judged again: %s, %v", again.Status, err)
	}
}

// saved is the folder of an exploration whose servers did what the model says.
func saved(t *testing.T, strategies ...string) (dir string, res result.Explore) {
	t.Helper()
	dir = t.TempDir()
	res = result.Explore{Schema: result.ExploreSchema, Name: "explore", Seed: 3, Clients: 2, Expiry: Natural, TTL: "1s", Command: "torture explore --seed 3"}
	plan := Plan{Schema: PlanSchema, Name: "explore", Seed: 3, Clients: 2, Expiry: Natural, TTL: pretendTTL}
	for _, name := range strategies {
		_, _, program := modelled(t, name)
		p := pretending(t, name, 2, program.Sample(2, 40, 1))
		p.dir = filepath.Join(dir, "cells", name)
		p.save()
		e, err := JudgeCell(t.Context(), p.dir)
		if err != nil {
			t.Fatal(err)
		}
		e.Dir = filepath.Join("cells", name)
		res.Strategies = append(res.Strategies, e)
		plan.Strategies = append(plan.Strategies, Chosen{name, p.plan.Schedules})
	}
	overall(&res)
	for name, v := range map[string]any{"result.json": res, "plan.json": plan} {
		if err := saveJSON(dir, name, v); err != nil {
			t.Fatal(err)
		}
	}
	return dir, res
}

// The report has a cell for each schedule, and each opens its story.
func TestReport(t *testing.T) {
	dir, res := saved(t, "setnx-check", "etcd-fenced", "version-cas")
	if err := report.Write(dir); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	grid := read("report.html")
	for _, e := range res.Strategies {
		for _, s := range e.Schedules {
			path := filepath.Join(e.Dir, "schedules", s.ID+".html")
			if !strings.Contains(grid, `href="`+path+`"`) {
				t.Errorf("no cell opens %s", path)
			}
			page := read(path)
			if !strings.Contains(page, "<svg") || !strings.Contains(page, "Move by move") || !strings.Contains(page, string(s.Class)) {
				t.Errorf("%s has no story", path)
			}
		}
	}
	for _, want := range []string{"after acquire", "after check", "in flight", "newer data overwritten", "update lost"} {
		if !strings.Contains(grid, want) {
			t.Errorf("the grid does not say %q", want)
		}
	}
	if strings.Contains(grid, "Model and servers differ") {
		t.Error("the grid speaks of differences, and there are none")
	}
	if table := read("summary.md"); !strings.Contains(table, "| setnx-check | 40 of 336 |") {
		t.Errorf("the table: %s", table)
	}
	if junit := read("junit.xml"); strings.Count(junit, "<testcase") != 3 {
		t.Errorf("junit: %s", junit)
	}
}

// Differences between model and servers cannot be overlooked.
func TestReportOfDifferences(t *testing.T) {
	dir, res := saved(t, "etcd-claim")
	res.Strategies[0].Differ = 1
	res.Strategies[0].Schedules[0].Differs = []string{"move 1, acquire of A: <b>something else</b>"}
	if err := saveJSON(dir, "result.json", res); err != nil {
		t.Fatal(err)
	}
	if err := report.Write(dir); err != nil {
		t.Fatal(err)
	}
	grid, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || !strings.Contains(string(grid), "Model and servers differ in 1 schedule") {
		t.Errorf("the grid is silent: %v", err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "cells", "etcd-claim", "schedules", res.Strategies[0].Schedules[0].ID+".html"))
	if err != nil || !strings.Contains(string(page), "&lt;b&gt;something else") {
		t.Errorf("the page is silent, or lets text be markup: %v", err)
	}
}

// A saved exploration whose parts do not belong together is refused.
func TestCheckRefuses(t *testing.T) {
	for _, one := range []struct {
		name, why string
		spoil     func(t *testing.T, dir string)
	}{
		{"no history", "history.jsonl", func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, "cells", "setnx", "history.jsonl"))
		}},
		{"another's history", "do not belong together", func(t *testing.T, dir string) {
			other, _ := saved(t, "redlock")
			move(t, filepath.Join(other, "cells", "redlock", "history.jsonl"), filepath.Join(dir, "cells", "setnx", "history.jsonl"))
		}},
		{"another cell", "it was moved or replaced", func(t *testing.T, dir string) {
			other, _ := saved(t, "redlock")
			if err := os.RemoveAll(filepath.Join(dir, "cells", "setnx")); err != nil {
				t.Fatal(err)
			}
			move(t, filepath.Join(other, "cells", "redlock"), filepath.Join(dir, "cells", "setnx"))
		}},
		{"a strategy less", "in plan.json and not in it", func(t *testing.T, dir string) {
			res, err := report.ReadExplore(dir)
			if err != nil {
				t.Fatal(err)
			}
			res.Strategies = nil
			if err := saveJSON(dir, "result.json", res); err != nil {
				t.Fatal(err)
			}
		}},
		{"no JSON", "ran.json", func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "cells", "setnx", "ran.json"), []byte("{"), 0o644); err != nil {
				t.Fatal(err)
			}
		}},
		{"no contract", "unknown property", func(t *testing.T, dir string) {
			path := filepath.Join(dir, "cells", "setnx", "plan.json")
			data, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, []byte(strings.Replace(string(data), "stale-overwrite", "stale", 1)), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}},
	} {
		dir, _ := saved(t, "setnx")
		one.spoil(t, dir)
		if _, err := Check(t.Context(), dir); !errors.As(err, &harness.Usage{}) || !strings.Contains(err.Error(), one.why) {
			t.Errorf("%s: %v", one.name, err)
		}
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func TestReadPlan(t *testing.T) {
	dir, _ := saved(t, "setnx", "redlock", "version-cas")
	for schedule, why := range map[string]string{
		"AAAABBBB":       "take one of setnx/AAAABBBB, redlock/AAAABBBB",
		"setnx/BBBBAAAA": "no schedule",
		"etcd/AAAABBBB":  "no schedule",
	} {
		if _, err := ReadPlan(dir, schedule); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", schedule, err)
		}
	}
	for _, schedule := range []string{"redlock/AAAABBBB", "ABBA"} {
		plan, err := ReadPlan(dir, schedule)
		if err != nil || len(plan.Strategies) != 1 || len(plan.Strategies[0].Schedules) != 1 || !strings.HasSuffix(schedule, plan.Strategies[0].Schedules[0]) {
			t.Errorf("%s: %+v, %v", schedule, plan, err)
		}
	}
	if _, err := ReadPlan(t.TempDir(), ""); err == nil || !strings.Contains(err.Error(), "plan.json") {
		t.Errorf("no plan: %v", err)
	}
}

func TestOptionsAreRefused(t *testing.T) {
	for _, one := range []struct {
		o   Options
		why string
	}{
		{Options{Clients: 1}, "--clients 1"},
		{Options{Clients: 9}, "--clients 9"},
		{Options{Expiry: "soon"}, `--expiry "soon"`},
		{Options{Sample: -1}, "--schedules -1"},
		{Options{TTL: 1}, "--ttl"},
		{Options{Parallel: 1000}, "--parallel"},
		{Options{Provider: "podman"}, "podman"},
		{Options{Strategies: []string{"zookeeper"}}, "zookeeper"},
		{Options{Strategies: []string{"setnx", "setnx"}}, "twice"},
		{Options{Strategies: []string{"row-lock"}}, "no model of the guard row-lock"},
		{Options{Strategies: []string{"etcd-claim"}, TTL: 1500e6}, "whole seconds"},
		{Options{Clients: 4, Strategies: []string{"setnx"}}, "--schedules N"},
		{Options{Only: []Chosen{{"setnx", []string{"AABB"}}}}, "A does 2 of its 4"},
		{Options{Only: []Chosen{{"setnx", []string{"AAAABBBBCCCC"}}}}, "3 clients"},
	} {
		one.o.Results = t.TempDir()
		if _, dir, err := Run(t.Context(), one.o, quiet{t: t}); !errors.As(err, &harness.Usage{}) || dir != "" || !strings.Contains(err.Error(), one.why) {
			t.Errorf("%+v: %v", one.o, err)
		}
	}
}
