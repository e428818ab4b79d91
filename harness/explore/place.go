package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/torture-harness/torture/harness/explore/view"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/store"
	"github.com/torture-harness/torture/harness/wire"
	"github.com/torture-harness/torture/harness/worker"
	"github.com/torture-harness/torture/workloads"
)

// place is one place of the pool: processes that play one schedule after the
// other, and are stopped and continued for it alone.
type place struct {
	cell   *cell
	name   string
	actors []*actor
	eye    *store.Eye
}

// actor is a process that plays one client at a time.
type actor struct {
	worker string
	player *worker.Player
	proxy  *wire.Proxy // between it and the store
	role   string      // whom it plays

	stopped bool
	over    bool // it has been told that its time is over: it writes no more
	lost    string
	held    workloads.Held
	flying  *worker.Running // a write that is held in the network
}

// open starts the processes of a place, all at once.
func (p *place) open(ctx context.Context) (err error) {
	c := p.cell
	places := c.run.places
	places.Postgres = store.WithSchema(places.Postgres, c.name)
	p.actors = make([]*actor, c.plan.Clients)
	launched := make(chan error, len(p.actors))
	for i := range p.actors {
		a := &actor{worker: view.WorkerName(p.name, Name(i)), role: view.WorkerName(p.name, Name(i))}
		p.actors[i] = a
		go func() { launched <- a.launch(ctx, c, places) }()
	}
	var errs []error
	for range p.actors {
		errs = append(errs, <-launched)
	}
	p.eye, err = store.OpenEye(ctx, c.run.places.Postgres, c.name, p.name, c.resources, c.record)
	return errors.Join(append(errs, err)...)
}

func (a *actor) launch(ctx context.Context, c *cell, places workloads.Places) (err error) {
	if a.proxy, places.Postgres, err = wire.ListenFor(places.Postgres); err != nil {
		return err
	}
	setup := worker.Setup{Worker: a.worker, Cell: c.name, Strategy: c.plan.Strategy, Places: places, Resources: c.resources,
		TTL: c.plan.TTL, Patience: patience(c.plan.TTL), PerNode: c.plan.TTL, Seed: uint64(c.plan.Seed), Unwatched: true,
		History: c.path("parts", a.worker+".jsonl"),
		Cast:    []worker.Role{{Name: a.role, Resource: c.resources[0]}}}
	a.player, err = worker.Launch(ctx, setup, c.path("logs"), func(pid int, start uint64) error {
		return c.run.guardian.Process(pid, start, "worker")
	})
	if err != nil {
		return err
	}
	c.record(history.Event{Type: history.TypeWorker, Time: history.Now(), Worker: a.worker, Status: "started", PID: a.player.PID()})
	return nil
}

// patience is the deadline of one request: longer than any stop.
func patience(ttl time.Duration) time.Duration { return max(60*time.Second, 10*ttl) }

// finish ends the processes in good order.
func (p *place) finish(ctx context.Context) error {
	var errs []error
	for _, a := range p.actors {
		if a.player != nil {
			errs = append(errs, a.player.Finish(ctx))
		}
	}
	return errors.Join(errs...)
}

// close ends whatever is left.
func (p *place) close() {
	for _, a := range p.actors {
		if a.player != nil {
			a.player.Destroy(context.Background())
		}
		if a.proxy != nil {
			_ = a.proxy.Close()
		}
	}
	if p.eye != nil {
		p.eye.Close()
	}
}

// recast gives every process a fresh client on a resource.
func (p *place) recast(resource string) error {
	for i, a := range p.actors {
		role := Name(i) + "/" + resource
		if err := a.player.Recast(a.role, worker.Role{Name: role, Resource: resource}); err != nil {
			return err
		}
		*a = actor{worker: a.worker, player: a.player, proxy: a.proxy, role: role}
	}
	return nil
}

// play runs a schedule once, on a resource. why says that it came to no end; the
// error, that something broke which has nothing to do with it.
func (p *place) play(ctx context.Context, f Forecast, resource string) (e evidence, why string, err error) {
	row := slices.Index(p.cell.resources, resource)
	s := &staging{place: p, Forecast: f, resource: resource, row: row, evidence: evidence{took: make([]took, len(f.Beats))}, writer: map[string]string{history.InitialWrite: history.InitialWrite}}
	if err := p.recast(resource); err != nil {
		return e, "", err
	}
	for i := range f.Beats {
		if err = s.beat(ctx, i); err != nil {
			break
		}
	}
	// Whatever became of it, nobody stays stopped and nothing held.
	err = errors.Join(err, s.heal(context.WithoutCancel(ctx)))
	var no impossible
	if errors.As(err, &no) {
		return s.evidence, no.why, nil
	}
	return s.evidence, "", err
}

// impossible ends a schedule that the servers do not let happen.
type impossible struct{ why string }

func (i impossible) Error() string { return i.why }

// stepPatience is how long any step may take that does not wait for a lock.
const stepPatience = 60 * time.Second

func bounded(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("no answer within %s", d))
}
