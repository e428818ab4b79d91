package explore

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

// Default lists the strategies that are explored unless others are asked for.
var Default = []string{"setnx", "setnx-check", "redlock", "etcd-plain", "etcd-fenced", "etcd-claim", "version-cas"}

// How leases end.
const (
	Natural = "natural" // by themselves, while their holder is stopped
	Forced  = "forced"  // they are revoked, or expired, at the server, while their holder is stopped
)

// Options is what an exploration can be told.
type Options struct {
	Name       string // explore, replay
	Strategies []string
	Clients    int
	Expiry     string // Natural, Forced
	Sample     int    // schedules of each strategy; 0 is all
	Seed       int64
	TTL        time.Duration // 0 is one that suits the expiry
	Provider   string
	Images     map[string]string
	Results    string
	Command    string
	Parallel   int // schedules at once; 0 is what the machine bears

	// Only are the schedules to be run, by strategy, instead of Strategies and
	// Sample: those of a plan.
	Only []Chosen
}

// Chosen are schedules of one strategy.
type Chosen struct {
	Strategy  string   `json:"strategy"`
	Schedules []string `json:"schedules"`
}

// PlanSchema is the version of the format of an exploration's plan.json.
const PlanSchema = "torture/explore-plan/1"

// Plan is everything that decides an exploration, but for the timing of the machine.
type Plan struct {
	Schema     string        `json:"schema"`
	Name       string        `json:"name"`
	Seed       int64         `json:"seed"`
	Clients    int           `json:"clients"`
	Expiry     string        `json:"expiry"`
	TTL        time.Duration `json:"ttl_ns"`
	Strategies []Chosen      `json:"strategies"`
}

// CellPlan is the plan of one strategy, saved beside its history so that it can
// be judged again.
type CellPlan struct {
	Schema    string            `json:"schema"`
	Run       string            `json:"run"` // the same for all strategies of a run
	Strategy  string            `json:"strategy"`
	Seed      int64             `json:"seed"`
	Clients   int               `json:"clients"`
	Expiry    string            `json:"expiry"`
	TTL       time.Duration     `json:"ttl_ns"`
	Contract  checkers.Contract `json:"contract"`
	Schedules []string          `json:"schedules"`
}

// everySchedule is the most that are run without a sample: more would not end in
// the time that anybody waits.
const everySchedule = 100_000

// plan fills in what was left open and refuses what cannot be run, as Usage.
func (o *Options) plan() (Plan, error) {
	set(&o.Name, "explore")
	set(&o.Clients, 2)
	set(&o.Expiry, Natural)
	set(&o.Provider, "auto")
	set(&o.Results, "results")
	if o.Expiry == Forced {
		// No lease may end by itself; and etcd's waiters hesitate for up to a
		// twentieth of it.
		set(&o.TTL, 10*time.Second)
	}
	set(&o.TTL, time.Second)
	p := Plan{Schema: PlanSchema, Name: o.Name, Seed: o.Seed, Clients: o.Clients, Expiry: o.Expiry, TTL: o.TTL, Strategies: o.Only}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.Clients < 2 || o.Clients > Most {
		bad("--clients %d: take 2 to %d", o.Clients, Most)
	}
	if o.Expiry != Natural && o.Expiry != Forced {
		bad("--expiry %q: take %s or %s", o.Expiry, Natural, Forced)
	}
	if o.Sample < 0 {
		bad("--schedules %d: take 1 or more, or leave it out for all", o.Sample)
	}
	if o.TTL < 500*time.Millisecond || o.TTL > time.Hour {
		bad("--ttl %s: take a lease between 500ms and 1h", o.TTL)
	}
	if o.Parallel < 0 || o.Parallel > 100 {
		bad("--parallel %d: take 1 to 100", o.Parallel)
	}
	if !slices.Contains(harness.Providers, o.Provider) {
		bad("--provider %q: take one of %s", o.Provider, strings.Join(harness.Providers, ", "))
	}
	if err := errors.Join(errs...); err != nil {
		return p, harness.Usage{Err: err}
	}
	if len(p.Strategies) == 0 {
		asked := o.Strategies
		if len(asked) == 0 {
			asked = Default
		}
		for i, name := range asked {
			if slices.Contains(asked[:i], name) {
				bad("strategy %q is asked for twice", name)
			}
			p.Strategies = append(p.Strategies, Chosen{Strategy: name})
		}
	}
	for i := range p.Strategies {
		if err := p.choose(&p.Strategies[i], o.Sample); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return p, harness.Usage{Err: err}
	}
	return p, nil
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// choose fills in the schedules of a strategy, or makes sure that they are some.
func (p Plan) choose(c *Chosen, sample int) error {
	s, err := workloads.Find(c.Strategy)
	if err != nil {
		return err
	}
	if _, err := ModelOf(s); err != nil {
		return err
	}
	if s.Locker.Needs.Etcd && p.TTL%time.Second != 0 {
		return fmt.Errorf("--ttl %s: leases of etcd (strategy %s) are in whole seconds; take %s", p.TTL, s.Name, p.TTL.Truncate(time.Second)+time.Second)
	}
	program := ProgramOf(s)
	if len(c.Schedules) > 0 {
		for i, id := range c.Schedules {
			moves, err := program.Moves(id)
			switch {
			case err != nil:
				return fmt.Errorf("strategy %s: %w", s.Name, err)
			case Clients(moves) != p.Clients:
				return fmt.Errorf("strategy %s: schedule %q has %d clients, and the plan %d", s.Name, id, Clients(moves), p.Clients)
			case slices.Contains(c.Schedules[:i], id):
				return fmt.Errorf("strategy %s: schedule %q comes twice", s.Name, id)
			}
		}
		return nil
	}
	plain, inFlight := program.Space(p.Clients)
	switch {
	case sample > 0:
		c.Schedules = program.Sample(p.Clients, sample, p.Seed)
	case plain+inFlight > everySchedule:
		return fmt.Errorf("strategy %s: %d clients have %d schedules; take some of them with --schedules N", s.Name, p.Clients, plain+inFlight)
	default:
		c.Schedules = slices.Collect(program.All(p.Clients))
	}
	return nil
}

// ReadPlan reads the plan of a saved exploration, of all its schedules or of one.
// One is named by its letters, with its strategy before it (setnx/AABBBBAA) where
// several have it.
func ReadPlan(dir, schedule string) (Plan, error) {
	var p Plan
	path := filepath.Join(dir, "plan.json")
	data, err := history.ReadSaved(path)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("%s: no plan: %w", path, err)
	}
	if p.Schema != PlanSchema {
		return p, fmt.Errorf("%s: schema %q; replay reads %q, the plan of an exploration", path, p.Schema, PlanSchema)
	}
	if schedule == "" {
		return p, nil
	}
	strategy, id, named := strings.Cut(schedule, "/")
	if !named {
		strategy, id = "", schedule
	}
	var found []Chosen
	for _, c := range p.Strategies {
		if (strategy == "" || strategy == c.Strategy) && slices.Contains(c.Schedules, id) {
			found = append(found, Chosen{c.Strategy, []string{id}})
		}
	}
	switch {
	case len(found) == 0:
		return p, fmt.Errorf("%s: no schedule %q; result.json and the report list them", path, schedule)
	case len(found) > 1:
		var names []string
		for _, c := range found {
			names = append(names, c.Strategy+"/"+id)
		}
		return p, fmt.Errorf("%s: several strategies have the schedule %q; take one of %s", path, id, strings.Join(names, ", "))
	}
	p.Strategies = found
	return p, nil
}
