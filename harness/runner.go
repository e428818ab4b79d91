package harness

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/guardian"
	"github.com/torture-harness/torture/harness/report"
	"github.com/torture-harness/torture/harness/result"
	"github.com/torture-harness/torture/nemesis"
	"github.com/torture-harness/torture/workloads"
)

// Progress is told what happens while a run goes on; all of it is for people.
type Progress interface {
	// Say is one line about the run as a whole.
	Say(format string, args ...any)
	// Cell is called when a cell begins, now and then while it runs, and, with
	// its result, when it has been judged.
	Cell(CellProgress)
}

// CellProgress is how far a run is.
type CellProgress struct {
	Number, Of int // from 1
	Strategy   string
	Fault      string
	Ran        time.Duration
	Writes     int          // acknowledged so far
	Late       int          // writes of old holders so far, accepted or refused
	Done       *result.Cell // set once it is judged
}

// Runner is a run in progress.
type Runner struct {
	plan     Plan
	progress Progress
	id       string // unique: in names of servers, schemas, keys
	dir      string
	guardian *guardian.Guardian
	servers  *cluster.Cluster
	places   workloads.Places
	broken   error // a server has ended by itself: no further cell can be run
}

// Run runs a plan. The error is a Usage, or what broke before there was
// anything to judge; everything else is in the result. Where dir is not empty,
// the run folder is there, and holds what was saved.
func Run(ctx context.Context, plan Plan, progress Progress) (res result.Result, dir string, err error) {
	plan.Defaults()
	if err := plan.Validate(); err != nil {
		return res, "", err
	}
	r := &Runner{plan: plan, progress: progress, id: NewRunID()}
	started := time.Now()
	if r.dir, err = MakeRunDir(plan.Results, plan.Name, started); err != nil {
		return res, "", err
	}
	res = result.Result{Schema: result.Schema, Name: plan.Name, Seed: plan.Seed, Started: started.UTC().Format(time.RFC3339),
		TTL: plan.TTL.String(), Command: plan.Command, Host: Host(), Versions: map[string]string{}, Status: checkers.Errored,
		ExitCode: checkers.ExitCode(checkers.Errored)}
	progress.Say("seed %d", plan.Seed)
	if err := SaveJSON(filepath.Join(r.dir, planFile), plan); err != nil {
		return res, r.dir, err
	}
	err = r.run(ctx, &res)
	res.Seconds = round1(time.Since(started).Seconds())
	return res, r.dir, errors.Join(err, r.save(&res, err))
}

// run does everything between the folder and the report.
func (r *Runner) run(ctx context.Context, res *result.Result) (err error) {
	if r.guardian, err = guardian.Open(r.id); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.guardian.Close()) }()
	ctx, abort := r.guardian.While(ctx)
	defer abort(nil)
	cells, err := r.cells()
	if err != nil {
		return err
	}
	if err := r.startServers(ctx, res, cells); err != nil {
		if errors.Is(context.Cause(ctx), context.Canceled) {
			return fmt.Errorf("%w while the servers were starting", ErrInterrupted)
		}
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		err = errors.Join(err, r.servers.Close(closing))
	}()
	for i, c := range cells {
		if ctx.Err() != nil {
			break
		}
		cell := r.runCell(ctx, c, i+1, len(cells))
		res.Cells = append(res.Cells, cell)
		if r.broken != nil {
			return r.broken
		}
	}
	if ctx.Err() != nil {
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
			return cause
		}
		return fmt.Errorf("%w after %d of %d cells", ErrInterrupted, len(res.Cells), len(cells))
	}
	return nil
}

// cells makes all cells of the plan, strategy by strategy.
func (r *Runner) cells() ([]*cell, error) {
	strategies, err := workloads.Lookup(r.plan.Strategies)
	if err != nil {
		return nil, err
	}
	resources := make([]string, r.plan.Resources)
	for i := range resources {
		resources[i] = fmt.Sprintf("r%02d", i)
	}
	var cells []*cell
	for _, s := range strategies {
		for _, name := range r.plan.Faults {
			fault, _ := nemesis.ByName(name) // validated
			n := len(cells) + 1
			cells = append(cells, &cell{run: r, strategy: s, fault: fault,
				tally: newTally(),
				dir:   filepath.Join(r.dir, "cells", s.Name+"."+name),
				name:  fmt.Sprintf("%s_c%02d", r.id, n),
				plan: CellPlan{Schema: PlanSchema, Run: r.id, Strategy: s.Name, Locker: lockerName(s), Guard: s.Guard.Name, Fault: name, Seed: r.plan.Seed, TTL: r.plan.TTL,
					Duration: r.plan.Duration, Contract: s.ContractUnder(name), Exposures: r.plan.Exposures,
					BudgetMS: r.plan.Budget.Milliseconds(), Point: s.Point(), Workers: r.plan.Workers, Resources: resources}})
		}
	}
	return cells, nil
}

func (r *Runner) startServers(ctx context.Context, res *result.Result, cells []*cell) error {
	provider, why, err := cluster.Select(ctx, r.plan.Provider)
	if err != nil {
		return err
	}
	r.progress.Say("%s", why)
	spec := cluster.Spec{Postgres: true, Images: r.plan.Images, Dir: r.dir, RunID: r.id, Guardian: r.guardian,
		// One connection per client, of the victims and of those that replace
		// them, and a few of our own.
		MaxConnections: 2*r.plan.Workers*r.plan.Resources + 10,
		Log:            sayer{r.progress}}
	for _, c := range cells {
		needs := c.strategy.Needs()
		spec.Redis = max(spec.Redis, needs.Redis)
		if needs.Etcd {
			spec.Etcd = etcdMembers
		}
		if needs.Sessions { // and one more per lock
			spec.MaxConnections = 4*r.plan.Workers*r.plan.Resources + 10
		}
	}
	began := time.Now()
	if r.servers, err = provider.Start(ctx, spec); err != nil {
		return fmt.Errorf("start the servers: %w", err)
	}
	res.Provider = provider.Name()
	res.Images = r.servers.Images
	for name, version := range r.servers.Versions {
		res.Versions[name] = version
	}
	res.Versions["go"], res.Versions["torture"] = runtime.Version(), Version()
	for _, note := range r.servers.Notes {
		r.progress.Say("%s", note)
	}
	r.places = PlacesOf(r.servers)
	r.progress.Say("servers ready after %.1f s: %s", time.Since(began).Seconds(), describe(r.servers))
	return nil
}

const etcdMembers = 3

// runCell runs and judges one cell. Its errors are in the result.
func (r *Runner) runCell(ctx context.Context, c *cell, number, of int) result.Cell {
	p := CellProgress{Number: number, Of: of, Strategy: c.strategy.Name, Fault: c.plan.Fault}
	began := time.Now()
	r.progress.Cell(p)
	watching, stop := context.WithCancel(ctx)
	told := make(chan struct{})
	go func() {
		defer close(told)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-watching.Done():
				return
			case <-tick.C:
				p.Ran = time.Since(began)
				p.Writes, p.Late = c.sofar()
				r.progress.Cell(p)
			}
		}
	}()
	err := c.execute(ctx)
	stop()
	<-told
	// Judged even after an interruption: what has been recorded is worth it.
	out := c.judge(context.WithoutCancel(ctx), err)
	out.Dir = filepath.Join("cells", filepath.Base(c.dir))
	out.Seconds = round1(time.Since(began).Seconds())
	if err := SaveJSON(c.path(resultFile), out); err != nil {
		out.Reasons = append(out.Reasons, OneLine(err))
	}
	p.Ran, p.Done = time.Since(began), &out
	r.progress.Cell(p)
	return out
}

// save computes the status of the whole and writes result.json and the report.
// A failing report never changes a verdict.
func (r *Runner) save(res *result.Result, broke error) error {
	var all []checkers.Status
	for _, c := range res.Cells {
		all = append(all, c.Status)
	}
	if broke != nil {
		status := checkers.Errored
		if errors.Is(broke, ErrInterrupted) {
			status = checkers.Inconclusive
		}
		all = append(all, status)
		res.Errors = append(res.Errors, OneLine(broke))
	}
	res.Status = checkers.Combine(all...)
	res.ExitCode = checkers.ExitCode(res.Status)
	if err := SaveJSON(filepath.Join(r.dir, resultFile), res); err != nil {
		return fmt.Errorf("save the result: %w", err)
	}
	if err := PointLatest(r.dir); err != nil {
		r.progress.Say("warning: %v", err)
	}
	if err := report.Write(r.dir); err != nil {
		r.progress.Say("warning: the report is not complete: %s", OneLine(err))
	}
	return nil
}

// NewRunID is a fresh name for a run, short enough for names of everything it makes.
func NewRunID() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails on Linux
	return "t" + hex.EncodeToString(b[:])
}

// OneLine is an error for people: one line, and no longer than they read.
func OneLine(err error) string {
	const most = 400
	line := strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "\n", "; ")), " ")
	if runes := []rune(line); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return line
}

// lockerName is the name of a strategy's locker in files.
func lockerName(s workloads.Strategy) string {
	if !s.Locked() {
		return "none"
	}
	return s.Locker.Name
}

func round1(x float64) float64 { return float64(int64(x*10+0.5)) / 10 }

// Host is the machine in one line.
func Host() string {
	var u unix.Utsname
	_ = unix.Uname(&u) // only for people
	return fmt.Sprintf("Linux %s %s, %d cores", unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Machine[:]), runtime.NumCPU())
}

// Version is the version of this binary: a module version or a commit.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return s.Value[:12]
		}
	}
	return info.Main.Version
}

type sayer struct{ Progress }

// Write says each line.
func (s sayer) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		s.Say("%s", strings.TrimRight(line, "\n"))
	}
	return len(p), nil
}

// describe is the servers in one line: "5 redis 7.0.15, 3 etcd 3.6.16".
func describe(c *cluster.Cluster) string {
	var parts []string
	add := func(kind cluster.Kind, n int) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s %s", n, kind, c.Versions[string(kind)]))
		}
	}
	add(cluster.Redis, len(c.Redis))
	add(cluster.Etcd, len(c.Etcd))
	if c.Postgres != nil {
		add(cluster.Postgres, 1)
	}
	return strings.Join(parts, ", ")
}

// MakeRunDir makes results/<time>-<name>, with a suffix if two begin at once.
func MakeRunDir(results, name string, at time.Time) (string, error) {
	if err := os.MkdirAll(results, 0o755); err != nil {
		return "", fmt.Errorf("results folder: %w; choose another with --results", err)
	}
	base := filepath.Join(results, at.Format("20060102-150405")+"-"+name)
	for n := 1; ; n++ {
		dir := base
		if n > 1 {
			dir = fmt.Sprintf("%s-%d", base, n)
		}
		err := os.Mkdir(dir, 0o755)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("results folder: %w; choose another with --results", err)
		}
		return filepath.Abs(dir)
	}
}

// PointLatest makes results/latest a link to dir, in one step.
func PointLatest(dir string) error {
	latest := filepath.Join(filepath.Dir(dir), "latest")
	next := latest + "." + filepath.Base(dir) // as unique as the folder
	if err := os.Symlink(filepath.Base(dir), next); err != nil {
		return err
	}
	if err := os.Rename(next, latest); err != nil {
		_ = os.Remove(next)
		return err
	}
	return nil
}
