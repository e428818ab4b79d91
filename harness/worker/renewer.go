package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	renewals := map[string]*workloads.Renewal{}
	defer func() {
		for _, r := range renewals {
			r.End()
		}
	}()
	c.say(Report{Say: sayReady})
	line := 1
	for lines.Scan() {
		line++
		var cmd Command
		if err := json.Unmarshal(lines.Bytes(), &cmd); err != nil {
			return fmt.Errorf("line %d of standard input: %w", line, err)
		}
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
				defer r.End()
			}
		case doFinish:
			return nil
		default:
			return fmt.Errorf("line %d of standard input: unknown command %q", line, cmd.Do)
		}
	}
	return errors.New("the supervisor is gone")
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
