package claims

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness"
	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/guardian"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/report"
	"github.com/torture-harness/torture/harness/result"
)

// Options is what a run of claims can be told.
type Options struct {
	IDs      []string
	SelfTest bool // break what each claim rests on, and see that its row turns
	Seed     int64
	Provider string
	Images   map[string]string
	Results  string
	Command  string
	Parallel int // cases at once; 0 is what the machine bears
}

// Progress is told what happens; all of it is for people.
type Progress interface {
	Say(format string, args ...any)
	// Row is called when a claim has come to its end.
	Row(done, of int, row Row)
}

// defaultTTL is long enough for the steps of a script on a busy machine.
const defaultTTL = time.Second

// run is a run of claims in progress.
type run struct {
	Options
	id       string
	seed     int64
	dir      string
	progress Progress
	guardian *guardian.Guardian
	provider cluster.Provider
	shared   *Servers

	slots chan struct{} // one per case that may be played at once
	own   chan struct{} // one per set of servers that may be started beside the shared ones
}

// Run puts claims to the test. The error is a harness.Usage, or what broke
// before there was a row; everything else is in the result.
func Run(ctx context.Context, o Options, progress Progress) (res Result, dir string, err error) {
	found, err := Find(o.IDs)
	if err != nil {
		return res, "", harness.Usage{Err: err}
	}
	rows, err := plan(found, o.SelfTest)
	if err != nil {
		return res, "", err
	}
	r := &run{Options: o, id: harness.NewRunID(), seed: o.Seed, progress: progress}
	started := time.Now()
	if r.dir, err = harness.MakeRunDir(cmp.Or(o.Results, "results"), "claims", started); err != nil {
		return res, "", err
	}
	res = Result{Schema: result.ClaimsSchema, Name: "claims", Seed: o.Seed, Started: started.UTC().Format(time.RFC3339), Command: o.Command, SelfTest: o.SelfTest,
		Host: harness.Host(), Versions: map[string]string{}, Status: checkers.Errored, ExitCode: checkers.ExitCode(checkers.Errored), Claims: []Row{}}
	err = r.all(ctx, &res, rows)
	res.Seconds = time.Since(started).Round(100 * time.Millisecond).Seconds()
	return res, r.dir, errors.Join(err, r.save(&res, err))
}

// job is one claim to be played, or one break of it.
type job struct {
	claim  Claim
	broken string
}

// plan is what is played: each claim, or each break of each claim.
func plan(found []Claim, selfTest bool) ([]job, error) {
	var jobs []job
	for _, c := range found {
		if !selfTest {
			jobs = append(jobs, job{claim: c})
			continue
		}
		breaks := 0
		for _, original := range c.Cases {
			for _, b := range original.Breaks {
				changed := original
				b.Apply(&changed)
				changed.Breaks = nil
				about := b.About
				if original.Name != "" {
					about = "(" + original.Name + ") " + about
				}
				jobs = append(jobs, job{Claim{ID: c.ID, Says: c.Says, Cases: []Case{changed}}, about})
				breaks++
			}
		}
		if breaks == 0 {
			return nil, fmt.Errorf("claim %s: nothing says what breaks it", c.ID)
		}
	}
	return jobs, nil
}

func (r *run) all(ctx context.Context, res *Result, jobs []job) error {
	r.progress.Say("seed %d", r.seed)
	setting := harness.Setting{RunID: r.id, Provider: r.Provider, Say: r.progress.Say,
		Spec: cluster.Spec{Redis: 5, Etcd: 3, Postgres: true, MaxConnections: 400, Images: r.Images, Dir: r.dir}}
	return setting.With(ctx, func(ctx context.Context, on *harness.Session) error {
		r.guardian, r.provider, r.shared = on.Guardian, on.Provider, newServers(on.Cluster, nil)
		defer r.shared.Close()
		res.Provider, res.Images, res.Versions = on.Provider.Name(), on.Cluster.Images, on.Versions
		return r.rows(ctx, res, jobs)
	})
}

// rows plays all rows, as many at once as the machine bears.
func (r *run) rows(ctx context.Context, res *Result, jobs []job) error {
	r.slots = make(chan struct{}, cmp.Or(r.Parallel, 4*runtime.NumCPU()))
	r.own = make(chan struct{}, max(1, runtime.NumCPU()))
	rows := make([]Row, len(jobs))
	var playing sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for i, j := range jobs {
		playing.Go(func() {
			row := r.row(ctx, i, j)
			mu.Lock()
			defer mu.Unlock()
			rows[i] = row
			done++
			r.progress.Row(done, len(jobs), row)
		})
	}
	playing.Wait()
	res.Claims = rows
	return harness.Interrupted(ctx)
}

func (r *run) start(ctx context.Context, spec cluster.Spec, dir string, g *guardian.Guardian) (*cluster.Cluster, error) {
	spec.Images, spec.Dir, spec.RunID, spec.Guardian = r.Images, dir, g.RunID(), g
	return r.provider.Start(ctx, spec)
}

// ownServers starts servers under a guardian of their own, so that they can be
// taken down without a thought for others.
func (r *run) ownServers(ctx context.Context, spec cluster.Spec, dir string) (*Servers, error) {
	g, err := guardian.Open(harness.NewRunID())
	if err != nil {
		return nil, err
	}
	c, err := r.start(ctx, spec, dir, g)
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return newServers(c, g), nil
}

func (r *run) stop(s *Servers) error {
	s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	err := s.Cluster.Close(ctx)
	if s.guardian != nil {
		err = errors.Join(err, s.guardian.Close())
	}
	return err
}

// row plays all cases of a claim, at once.
func (r *run) row(ctx context.Context, n int, j job) Row {
	row := Row{ID: j.claim.ID, Says: j.claim.Says, Broken: j.broken, Cases: make([]CaseRow, len(j.claim.Cases))}
	began := time.Now()
	var playing sync.WaitGroup
	for i, c := range j.claim.Cases {
		playing.Go(func() { row.Cases[i] = r.play(ctx, fmt.Sprintf("%s_%s%02d%02d", r.id, "k", n, i), j, c) })
	}
	playing.Wait()
	for _, c := range row.Cases {
		row.Verdict = worst(cmp.Or(row.Verdict, OK), c.Verdict)
	}
	row.Seconds = time.Since(began).Round(10 * time.Millisecond).Seconds()
	return row
}

// play plays one case and judges it.
func (r *run) play(ctx context.Context, name string, j job, c Case) (out CaseRow) {
	out = CaseRow{Name: c.Name, About: c.About, Strategy: c.Strategy, Expected: c.Expect, Verdicts: map[checkers.Property]checkers.Verdict{}}
	wishes, err := parse(c.Expect)
	if err != nil {
		weigh(&out, "", err)
		return out
	}
	folder := j.claim.ID + c.Name
	if j.broken != "" {
		folder += "-" + name[len(name)-4:]
	}
	out.Dir = filepath.Join("cases", folder)
	s := &Stage{Case: c, TTL: cmp.Or(c.TTL, defaultTTL), ctx: ctx, run: r, name: name, dir: filepath.Join(r.dir, out.Dir), facts: map[string]string{}}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		weigh(&out, "", err)
		return out
	}
	slots := r.slots
	if c.Own != nil {
		slots = r.own
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		weigh(&out, "interrupted", nil)
		return out
	}
	began := time.Now()
	stopped, j2, h, err := r.stage(ctx, s, c)
	out.Seconds = time.Since(began).Round(10 * time.Millisecond).Seconds()
	out.Happened, out.Proofs = s.happened(), s.proofs
	if err == nil && h != nil {
		out.Found = compare(wishes, j2, s.facts)
		out.Evidence = evidence(h, j2)
		for p, f := range j2.Findings {
			out.Verdicts[p] = f.Verdict
		}
		if p, silent := silence(h, s.TTL); silent && mayBeSilence(out.Found) {
			out.Proofs = append(out.Proofs, p)
		}
	}
	if ctx.Err() != nil {
		weigh(&out, "interrupted", nil)
	} else {
		weigh(&out, stopped, err)
	}
	if err := harness.SaveJSON(s.path("case.json"), out); err != nil {
		out.Reasons = append(out.Reasons, harness.OneLine(err))
	}
	return out
}

// stage sets up, plays, saves and only then judges.
func (r *run) stage(ctx context.Context, s *Stage, c Case) (stopped string, j checkers.Judgement, h *history.History, err error) {
	s.Servers = r.shared
	if c.Own != nil {
		own, err := r.ownServers(ctx, *c.Own, s.dir)
		var missing *cluster.MissingError
		if errors.As(err, &missing) {
			return missing.Error(), j, nil, nil
		}
		if err != nil {
			return "", j, nil, fmt.Errorf("start servers of its own: %w", err)
		}
		s.Servers = own
		defer func() { err = errors.Join(err, r.stop(own)) }()
	}
	defer s.close()
	if err := s.open(); err != nil {
		return "", j, nil, err
	}
	s.observer.Patient = c.Own != nil
	stopped, err = s.play()
	if err == nil {
		err = s.final()
	}
	if err := errors.Join(err, s.merge()); err != nil {
		return stopped, j, nil, err
	}
	j, h, err = judgeCase(context.WithoutCancel(ctx), s.dir, c.Expect)
	if err == nil && j.Status == checkers.Errored {
		s.Tell("status", "error")
	}
	return stopped, j, h, err
}

// judgeCase judges the saved files of a case, and nothing else. A history that
// contradicts itself is an error unless that is what the case expects.
func judgeCase(ctx context.Context, dir, expect string) (j checkers.Judgement, h *history.History, err error) {
	if h, err = history.ReadFile(filepath.Join(dir, "history.jsonl")); err != nil {
		return j, nil, err
	}
	journal, err := history.ReadJournal(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		return j, nil, err
	}
	contract := checkers.Contract{checkers.Durability: checkers.Promised}
	wishes, err := parse(expect)
	if err != nil {
		return j, nil, err
	}
	if wanted(wishes, string(checkers.Durability)) == string(checkers.Violated) {
		contract[checkers.Durability] = checkers.Allowed
	}
	j, err = checkers.Judge(ctx, h, journal, checkers.Config{Contract: contract, MinExposures: 1})
	if err == nil && j.Status == checkers.Errored && wanted(wishes, "status") != "error" {
		err = fmt.Errorf("the history contradicts itself: %s", j.Reasons[0])
	}
	return j, h, err
}

// wanted is what is expected of something, "" if nothing is.
func wanted(wishes []wish, what string) string {
	if i := slices.IndexFunc(wishes, func(w wish) bool { return w.what == what }); i >= 0 {
		return wishes[i].want
	}
	return ""
}

// overall is the status of all rows.
func overall(res Result) checkers.Status {
	all := []checkers.Status{checkers.Pass}
	for _, row := range res.Claims {
		switch {
		case !res.SelfTest:
			all = append(all, statusOf(row.Verdict))
		case row.Verdict == NotAsClaimed:
		case row.Verdict == Broken:
			all = append(all, checkers.Errored)
		default: // what was broken was not noticed
			all = append(all, checkers.Failed)
		}
	}
	return checkers.Combine(all...)
}

// save computes the status of the whole and writes result.json and the report.
func (r *run) save(res *Result, broke error) error {
	all := []checkers.Status{overall(*res)}
	if errors.Is(broke, harness.ErrInterrupted) {
		all = append(all, checkers.Inconclusive)
		res.Errors = append(res.Errors, broke.Error())
	} else if broke != nil {
		all = append(all, checkers.Errored)
		res.Errors = append(res.Errors, harness.OneLine(broke))
	}
	res.Status = checkers.Combine(all...)
	res.ExitCode = checkers.ExitCode(res.Status)
	if err := harness.SaveJSON(filepath.Join(r.dir, "result.json"), res); err != nil {
		return fmt.Errorf("save the result: %w", err)
	}
	if err := report.Write(r.dir); err != nil {
		r.progress.Say("warning: the report is not complete: %s", harness.OneLine(err))
	}
	if err := harness.PointLatest(r.dir); err != nil {
		r.progress.Say("warning: %v", err)
	}
	return nil
}
