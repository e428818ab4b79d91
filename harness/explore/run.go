package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness"
	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/guardian"
	"github.com/torture-harness/torture/harness/leases"
	"github.com/torture-harness/torture/harness/report"
	"github.com/torture-harness/torture/harness/result"
	"github.com/torture-harness/torture/workloads"
)

// Progress is told what happens; all of it is for people.
type Progress interface {
	Say(format string, args ...any)
	// Schedules is called whenever a schedule of a strategy has been run.
	Schedules(strategy string, done, of int)
	// Explored is called when a strategy has come to its end.
	Explored(result.Explored)
}

// run is an exploration in progress.
type run struct {
	plan     Plan
	id       string
	dir      string
	parallel int
	progress Progress
	guardian *guardian.Guardian
	places   workloads.Places
	leases   *leases.Servers
}

// Run explores. The error is a harness.Usage, or what broke before there was
// anything to judge; everything else is in the result.
func Run(ctx context.Context, o Options, progress Progress) (res result.Explore, dir string, err error) {
	plan, err := o.plan()
	if err != nil {
		return res, "", err
	}
	// Eight for each core: more make every step slow, and with fewer the machine
	// waits for leases to end.
	r := &run{plan: plan, id: harness.NewRunID(), progress: progress, parallel: cmp.Or(o.Parallel, 8*runtime.NumCPU())}
	started := time.Now()
	if r.dir, err = harness.MakeRunDir(o.Results, plan.Name, started); err != nil {
		return res, "", err
	}
	res = result.Explore{Schema: result.ExploreSchema, Name: plan.Name, Seed: plan.Seed, Started: started.UTC().Format(time.RFC3339), Command: o.Command,
		Host: harness.Host(), Versions: map[string]string{}, Status: checkers.Errored, ExitCode: checkers.ExitCode(checkers.Errored),
		Clients: plan.Clients, Expiry: plan.Expiry, TTL: plan.TTL.String(), Strategies: []result.Explored{}}
	if err := harness.SaveJSON(filepath.Join(r.dir, "plan.json"), plan); err != nil {
		return res, r.dir, err
	}
	err = r.all(ctx, o, &res)
	res.Seconds = since(started)
	return res, r.dir, errors.Join(err, r.save(&res, err))
}

func (r *run) all(ctx context.Context, o Options, res *result.Explore) error {
	var cells []*cell
	// One connection for each client, one eye for each place, and a few of our own.
	spec := cluster.Spec{Postgres: true, Images: o.Images, Dir: r.dir, MaxConnections: (r.plan.Clients+1)*r.parallel + 20}
	schedules := 0
	for i, chosen := range r.plan.Strategies {
		c, err := r.cell(i+1, chosen)
		if err != nil {
			return err
		}
		cells = append(cells, c)
		schedules += len(chosen.Schedules)
		needs := c.strategy.Needs()
		spec.Redis = max(spec.Redis, needs.Redis)
		if needs.Etcd {
			spec.Etcd = 3
		}
	}
	r.progress.Say("seed %d", r.plan.Seed)
	r.progress.Say("%d schedules of %d clients for %d strategies, %d at once; leases of %s, expiry %s", schedules, r.plan.Clients, len(cells), r.parallel, r.plan.TTL, r.plan.Expiry)
	setting := harness.Setting{RunID: r.id, Provider: o.Provider, Spec: spec, Say: r.progress.Say}
	return setting.With(ctx, func(ctx context.Context, on *harness.Session) error {
		r.guardian, r.places = on.Guardian, harness.PlacesOf(on.Cluster)
		r.leases = &leases.Servers{Places: r.places}
		defer r.leases.Close()
		res.Provider, res.Images, res.Versions = on.Provider.Name(), on.Cluster.Images, on.Versions
		for _, c := range cells {
			if ctx.Err() != nil {
				break
			}
			explored := r.explore(ctx, c)
			res.Strategies = append(res.Strategies, explored)
			r.progress.Explored(explored)
		}
		if err := harness.Interrupted(ctx); err != nil {
			return fmt.Errorf("%w after %d of %d strategies", err, len(res.Strategies), len(cells))
		}
		return nil
	})
}

// explore runs and judges one strategy. Its errors are in the result.
func (r *run) explore(ctx context.Context, c *cell) result.Explored {
	began := time.Now()
	broke := c.execute(ctx, func(done int) { r.progress.Schedules(c.strategy.Name, done, len(c.plan.Schedules)) })
	// Judged even after an interruption: what has been recorded is worth it.
	out, err := JudgeCell(context.WithoutCancel(ctx), c.dir)
	out.Strategy, out.Dir, out.Seconds = c.strategy.Name, filepath.Join("cells", c.strategy.Name), since(began)
	if errors.Is(broke, harness.ErrInterrupted) {
		broke = nil // it is in the result of the whole, and the schedules that are missing are in this one
	}
	if broke := errors.Join(broke, err); broke != nil {
		out.Status = checkers.Combine(out.Status, checkers.Errored)
		out.Reasons = append([]string{harness.OneLine(broke)}, out.Reasons...)
	}
	if err := harness.SaveJSON(c.path("result.json"), out); err != nil {
		out.Reasons = append(out.Reasons, harness.OneLine(err))
	}
	return out
}

// overall is what all strategies come to. broken is the status of what ended the
// run before its time.
func overall(res *result.Explore, broken ...checkers.Status) {
	all := append([]checkers.Status{checkers.Pass}, broken...)
	for _, s := range res.Strategies {
		all = append(all, s.Status)
	}
	res.Status = checkers.Combine(all...)
	res.ExitCode = checkers.ExitCode(res.Status)
}

// save computes the status of the whole and writes result.json and the report. A
// failing report never changes a verdict.
func (r *run) save(res *result.Explore, broke error) error {
	switch {
	case errors.Is(broke, harness.ErrInterrupted):
		overall(res, checkers.Inconclusive)
	case broke != nil:
		overall(res, checkers.Errored)
	default:
		overall(res)
	}
	if broke != nil {
		res.Errors = append(res.Errors, harness.OneLine(broke))
	}
	if err := harness.SaveJSON(filepath.Join(r.dir, "result.json"), res); err != nil {
		return fmt.Errorf("save the result: %w", err)
	}
	if err := harness.PointLatest(r.dir); err != nil {
		r.progress.Say("warning: %v", err)
	}
	if err := report.Write(r.dir); err != nil {
		r.progress.Say("warning: the report is not complete: %s", harness.OneLine(err))
	}
	return nil
}
