package worker

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/lock"
)

// renew has this process do nothing but prolong the leases that it is handed,
// until it is told to finish. It goes on whatever happens to the holders.
func (c *child) renew(lines *bufio.Scanner, locker lock.Locker) error {
	renewer, ok := locker.(lock.Renewer)
	if !ok {
		return fmt.Errorf("the locker %s cannot renew", c.strategy.Locker.Name)
	}
	renewals := map[string]*workloads.Renewal{} // by grant
	var dropped []*workloads.Renewal            // whose last request may be under way
	defer func() {
		for _, r := range slices.AppendSeq(dropped, maps.Values(renewals)) {
			r.End()
		}
	}()
	c.say(Report{Say: sayReady})
	return obey(lines, func(cmd Command) error {
		switch cmd.Do {
		case doAdopt:
			renewals[cmd.Held.Grant] = workloads.StartRenewal(workloads.Renewed{Held: *cmd.Held, Worker: c.setup.Worker,
				Locker: renewer, NewID: c.newID, Record: c.record, First: func(kept bool) {
					r := Report{Say: sayKept, Held: cmd.Held}
					if !kept {
						r.Say = sayLost
					}
					c.say(r)
				}})
		case doDrop:
			if r := renewals[cmd.Held.Grant]; r != nil {
				r.Stop() // not awaited: a request in hand must not delay the next
				delete(renewals, cmd.Held.Grant)
				dropped = append(dropped, r)
			}
		default:
			return fmt.Errorf("unknown command %q", cmd.Do)
		}
		return nil
	})
}

// renewerOf is the name of a worker's renewer.
func renewerOf(worker string) string { return worker + renewerSuffix }

const renewerSuffix = "-renewer"

// startRenewer starts the process that renews for a worker, if its strategy
// wants one.
func (f *Fleet) startRenewer(ctx context.Context, worker string) error {
	strategy, err := workloads.Find(f.setup.Strategy)
	if err != nil || strategy.Renew != workloads.RenewOutside {
		return err
	}
	setup := f.setup
	setup.Worker, setup.Renews = renewerOf(worker), true
	setup.History = f.part(setup.Worker)
	m, err := launch(f.exe, f.logs, setup, f.told, f.hear)
	if err != nil {
		return fmt.Errorf("start the renewer of %s: %w", worker, err)
	}
	f.mu.Lock()
	f.renewers[worker] = m
	f.mu.Unlock()
	if err := m.awaitReady(ctx); err != nil {
		return err
	}
	f.record(history.Event{Type: history.TypeWorker, Time: history.Now(), Worker: setup.Worker, Status: "started", PID: m.process.Pid()})
	f.watching.Go(func() { f.watch(m) })
	return nil
}

// answered passes on to a worker what its renewer said.
func (f *Fleet) answered(renewer string, c Command) {
	f.mu.Lock()
	m := f.members[strings.TrimSuffix(renewer, renewerSuffix)]
	f.mu.Unlock()
	if m == nil {
		return // the holder was killed meanwhile
	}
	_ = m.send(c) // a holder that is gone needs no answer, and its end is noticed elsewhere
}

// handOn passes a grant on to the renewer of its worker, or takes it back.
func (f *Fleet) handOn(worker string, c Command) {
	f.mu.Lock()
	m := f.renewers[worker]
	f.mu.Unlock()
	if m == nil {
		return
	}
	if err := m.send(c); err != nil {
		f.fail(err)
	}
}
