// Package harness runs a plan: servers up, workers, nemesis, heal, final read,
// save, judge, report.
package harness

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/nemesis"
	"github.com/torture-harness/torture/workloads"
)

// PlanSchema is the version of the format of plan.json.
const PlanSchema = "torture/plan/1"

// Plan is everything that decides a run, but for the timing of the machine.
type Plan struct {
	Schema     string            `json:"schema"`
	Name       string            `json:"name"`
	Strategies []string          `json:"strategies"`
	Faults     []string          `json:"faults"`
	Seed       int64             `json:"seed"`
	TTL        time.Duration     `json:"ttl_ns"`
	Duration   time.Duration     `json:"duration_ns"` // least length of a cell; the most is longest times that
	Think      time.Duration     `json:"think_ns"`    // between read and write
	Idle       time.Duration     `json:"idle_ns"`     // between two updates of a client
	Workers    int               `json:"workers"`
	Resources  int               `json:"resources"`
	Exposures  int               `json:"min_exposures"`
	Budget     time.Duration     `json:"budget_ns"` // for judging one cell
	Provider   string            `json:"provider"`  // auto, container, process
	Images     map[string]string `json:"images,omitempty"`
	Results    string            `json:"-"` // folder of all runs
	Command    string            `json:"command"`
}

// CellPlan is the plan of one cell, saved beside its history so that it can be
// judged again.
type CellPlan struct {
	Schema    string            `json:"schema"`
	Run       string            `json:"run"` // the same in all cells of a run
	Strategy  string            `json:"strategy"`
	Locker    string            `json:"locker"`
	Guard     string            `json:"guard"`
	Fault     string            `json:"fault"`
	Seed      int64             `json:"seed"`
	TTL       time.Duration     `json:"ttl_ns"`
	Duration  time.Duration     `json:"duration_ns"`
	Contract  checkers.Contract `json:"contract"`
	Exposures int               `json:"min_exposures"`
	BudgetMS  int64             `json:"budget_ms"`
	Point     string            `json:"point"`
	Workers   int               `json:"workers"`
	Resources []string          `json:"resources"`
}

// Everything asks for all strategies under all faults, where none were named.
func (p *Plan) Everything() {
	if len(p.Strategies) == 0 {
		p.Strategies = workloads.Names()
	}
	if len(p.Faults) == 0 {
		p.Faults = nemesis.Names()
	}
}

// Defaults fills in what was left open.
func (p *Plan) Defaults() {
	p.Schema = PlanSchema
	set(&p.Name, "compare")
	set(&p.TTL, time.Second)
	set(&p.Duration, 3*time.Second)
	// Long enough that a blind pause often hits a critical section, short enough
	// that many updates fit into a lease.
	set(&p.Think, p.TTL/6)
	set(&p.Idle, p.TTL/10)
	set(&p.Workers, 3)
	set(&p.Resources, 16)
	set(&p.Exposures, 20)
	set(&p.Budget, time.Minute)
	set(&p.Provider, "auto")
	set(&p.Results, "results")
	if len(p.Strategies) == 0 {
		p.Strategies = workloads.Defaults()
	}
	if len(p.Faults) == 0 {
		p.Faults = []string{workloads.FaultNone, workloads.FaultPauseHolder, workloads.FaultPauseRandom, workloads.FaultDelayWrite}
	}
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Providers lists what servers can run in.
var Providers = []string{"auto", "container", "process"}

// Usage is an error in what was asked for: exit code 2.
type Usage struct{ Err error }

func (u Usage) Error() string { return u.Err.Error() }

// Unwrap returns the cause.
func (u Usage) Unwrap() error { return u.Err }

// Validate refuses plans that cannot be run, as Usage.
func (p *Plan) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	found, err := workloads.Lookup(p.Strategies)
	if err != nil {
		errs = append(errs, err)
	}
	fractional := false
	for _, s := range found {
		if err := s.Validate(); err != nil {
			errs = append(errs, err)
		}
		if s.Locker.Needs.Etcd && p.TTL%time.Second != 0 && !fractional {
			fractional = true
			bad("--ttl %s: leases of etcd (strategy %s) are in whole seconds; take %s", p.TTL, s.Name, p.TTL.Truncate(time.Second)+time.Second)
		}
	}
	for _, name := range p.Faults {
		if _, ok := nemesis.ByName(name); !ok {
			bad("unknown fault %q; known are: %s", name, strings.Join(nemesis.Names(), ", "))
		}
	}
	if err := unique("strategy", p.Strategies); err != nil {
		errs = append(errs, err)
	}
	if err := unique("fault", p.Faults); err != nil {
		errs = append(errs, err)
	}
	if !slices.Contains(Providers, p.Provider) {
		bad("--provider %q: take one of %s", p.Provider, strings.Join(Providers, ", "))
	}
	if p.TTL < 500*time.Millisecond || p.TTL > time.Hour {
		bad("--ttl %s: take a lease between 500ms and 1h", p.TTL)
	}
	if p.Duration < p.TTL/2 || p.Duration > 24*time.Hour {
		bad("--duration %s: take at least half a lease (%s) and at most 24h", p.Duration, p.TTL/2)
	}
	if p.Think < 0 || p.Think > p.TTL || p.Idle < 0 {
		bad("--think %s: take a time between 0 and the lease (%s)", p.Think, p.TTL)
	}
	if p.Workers < 2 || p.Workers > 64 {
		bad("--workers %d: take 2 to 64; one is never stopped", p.Workers)
	}
	if p.Resources < 1 || p.Resources > 99 {
		bad("--resources %d: take 1 to 99", p.Resources)
	}
	if p.Exposures < 1 {
		bad("--exposures %d: take 1 or more", p.Exposures)
	}
	if err := errors.Join(errs...); err != nil {
		return Usage{err}
	}
	return nil
}

func unique(what string, names []string) error {
	seen := map[string]bool{}
	for _, n := range names {
		if seen[n] {
			return fmt.Errorf("%s %q is asked for twice", what, n)
		}
		seen[n] = true
	}
	return nil
}
