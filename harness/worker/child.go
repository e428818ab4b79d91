package worker

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/lock"
)

// child is the worker process as seen from inside.
type child struct {
	setup    Setup
	strategy workloads.Strategy
	recorder *history.Recorder
	points   *workloads.Breakpoints
	handover handover
	ids      atomic.Int64

	mu  sync.Mutex
	out *json.Encoder
	bad error // the first failure to record or report: the history has a hole
}

// Main runs a worker process: it reads a Setup and then Commands from in, and
// writes Reports to out. It returns when told to finish or when in ends.
func Main(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), 1<<20)
	c := &child{out: json.NewEncoder(out)}
	c.handover = handover{say: c.say, waiting: map[string]chan bool{}}
	if !lines.Scan() {
		return errors.New("worker: no setup on standard input; `torture worker` is started by torture itself")
	}
	if err := json.Unmarshal(lines.Bytes(), &c.setup); err != nil {
		return fmt.Errorf("worker: line 1 of standard input is no setup: %w; `torture worker` is started by torture itself", err)
	}
	if err := c.run(lines); err != nil {
		c.say(Report{Say: sayError, Error: err.Error()})
		return fmt.Errorf("worker %s: %w", c.setup.Worker, err)
	}
	return c.bad
}

func (c *child) run(lines *bufio.Scanner) error {
	if c.setup.Keeper != "" {
		return c.keep(lines)
	}
	var err error
	if c.strategy, err = workloads.Find(c.setup.Strategy); err != nil {
		return err
	}
	if c.strategy.Guard, err = c.strategy.Guard.At(c.setup.Places); err != nil {
		return err
	}
	if c.recorder, err = history.NewRecorder(c.setup.History); err != nil {
		return err
	}
	defer c.recorder.Close()
	c.points = workloads.NewBreakpoints(c.arrived)
	locker, err := c.locker()
	if err != nil {
		return err
	}
	if locker != nil {
		defer locker.Close()
	}
	if c.setup.Renews {
		return c.renew(lines, locker)
	}
	clients, err := c.connect(locker)
	if err != nil {
		return err
	}
	background, stop := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	if !c.setup.Unwatched {
		watching.Go(func() { WatchStalls(background, c.setup.Worker, c.record) })
	}
	defer watching.Wait() // it records, so it must end before the recorder is closed
	defer stop()
	c.say(Report{Say: sayReady})
	if len(c.setup.Cast) > 0 {
		return c.play(lines, clients, locker)
	}

	ctx, finish := context.WithCancel(background)
	defer finish()
	var running sync.WaitGroup
	err = obey(lines, func(cmd Command) error {
		switch cmd.Do {
		case doBegin:
			for _, client := range clients {
				running.Go(func() { client.Run(ctx) })
			}
		case doKept, doLost:
			c.handover.answer(cmd.Held.Grant, cmd.Do == doKept)
		default:
			return c.point(cmd)
		}
		return nil
	})
	if err != nil {
		return err
	}
	finish()
	c.points.Abandon()
	c.handover.end()
	running.Wait()
	return nil
}

// obey does what the supervisor says, line by line, and returns nil when it
// says that the work is finished.
func obey(lines *bufio.Scanner, do func(Command) error) error {
	for line := 2; lines.Scan(); line++ { // the first was the setup
		cmd, err := parseCommand(lines.Bytes())
		if err == nil && cmd.Do == doFinish {
			return nil
		}
		if err == nil {
			err = do(cmd)
		}
		if err != nil {
			return fmt.Errorf("line %d of standard input: %w", line, err)
		}
	}
	return errors.New("the supervisor is gone")
}

// point does the commands about breakpoints, which every worker knows.
func (c *child) point(cmd Command) error {
	switch cmd.Do {
	case doArm:
		c.points.Arm(cmd.Point, cmd.Resources)
	case doDisarm:
		c.points.Disarm()
	case doGo:
		c.points.Go(cmd.Resources)
	default:
		return fmt.Errorf("unknown command %q", cmd.Do)
	}
	return nil
}

func (c *child) locker() (lock.Locker, error) {
	if !c.strategy.Locked() {
		return nil, nil
	}
	return c.strategy.Locker.New(c.setup.Places, workloads.LockerOptions{
		Prefix: c.setup.Cell + "/", TTL: c.setup.TTL, Patience: c.setup.Patience, Clients: max(len(c.setup.Resources), len(c.setup.Cast)), Value: c.setup.Value,
		PerNode: c.setup.PerNode,
		Jitter:  lock.NewJitter(c.setup.Seed, stream(c.setup.Worker)),
	})
}

// clients makes one client per resource, or one per role.
func (c *child) clients(locker lock.Locker) []*workloads.Client {
	var clients []*workloads.Client
	if len(c.setup.Cast) == 0 {
		for _, resource := range c.setup.Resources {
			clients = append(clients, c.client(locker, resource, ""))
		}
	}
	for _, role := range c.setup.Cast {
		clients = append(clients, c.client(locker, role.Resource, role.Name))
	}
	return clients
}

func (c *child) client(locker lock.Locker, resource, alias string) *workloads.Client {
	name := cmp.Or(alias, c.setup.Worker+"/"+resource)
	client := &workloads.Client{
		Worker: c.setup.Worker, Alias: alias, Resource: resource, Row: int64(slices.Index(c.setup.Resources, resource)), Key: c.setup.Cell + "/" + resource,
		Strategy: c.strategy, Locker: locker,
		Store: &workloads.Store{DSN: c.setup.Places.Postgres, Name: c.setup.Cell + "/" + name},
		Pace:  c.setup.Pace, Patience: c.setup.Patience,
		Rand:  rand.New(rand.NewPCG(c.setup.Seed, stream(name))),
		Hooks: workloads.Hooks{NewID: c.newID, Record: c.record, Progress: c.progress, Points: c.points},
	}
	if alias == "" { // who is played is told by the script when to hand over
		client.HandOver, client.TakeBack = c.handover.give, c.handover.take
	}
	return client
}

// connect makes the clients and opens their connections, all at once.
func (c *child) connect(locker lock.Locker) ([]*workloads.Client, error) {
	clients := c.clients(locker)
	var opening sync.WaitGroup
	errs := make([]error, len(clients))
	for i, client := range clients {
		opening.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), c.setup.Patience)
			defer cancel()
			_, errs[i] = client.Store.Conn(ctx)
		})
	}
	opening.Wait()
	for _, err := range errs {
		if err != nil { // one speaks for all: they connect to the same server
			return nil, err
		}
	}
	return clients, nil
}

// stream turns a name into a random stream of its own.
func stream(name string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, name)
	return h.Sum64()
}

func (c *child) newID() string {
	return c.setup.Worker + "-" + strconv.FormatInt(c.ids.Add(1), 10)
}

func (c *child) record(e history.Event) {
	if err := c.recorder.Write(e); err != nil {
		c.fail(err)
	}
}

func (c *child) arrived(point, client, resource string) {
	now := history.Now()
	c.record(history.Event{Type: history.TypeArrive, Time: now, Worker: c.setup.Worker, Client: client, Resource: resource, Point: point})
	c.say(Report{Say: sayArrived, Point: point, Resource: resource, Client: client, Time: now})
}

func (c *child) progress(p workloads.Progress) { c.say(Report{Say: sayProgress, Progress: &p}) }

func (c *child) say(r Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.out.Encode(r); err != nil && c.bad == nil {
		c.bad = fmt.Errorf("report: %w", err)
	}
}

// fail remembers the first error and tells the supervisor: a history with a
// hole must never be judged.
func (c *child) fail(err error) {
	c.mu.Lock()
	first := c.bad == nil
	if first {
		c.bad = err
	}
	c.mu.Unlock()
	if first {
		c.say(Report{Say: sayError, Error: err.Error()})
	}
}
