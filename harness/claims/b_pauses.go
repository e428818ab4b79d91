package claims

import (
	"context"
	"fmt"
	"time"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/proc"
	"github.com/torture-harness/torture/workloads"
)

// claimsOfPauses: what a stop-the-world pause of the holder does.
var claimsOfPauses = []Claim{
	{
		ID:   "C9",
		Says: "A reads; a stop-the-world pause outlives its lease; B takes over and writes; A resumes and writes the old document over B's.",
		Cases: []Case{
			{Name: "a", About: "stopped after the read, plain store", Strategy: "redis-setnx+plain", TTL: 2 * time.Second, Play: c9LosesField,
				Expect: "write(A)=ok write(B)=ok lease-exclusion=holds all3=violated last=A field(B)=gone",
				Breaks: []Break{With("redis-setnx+version")}},
			{Name: "b", About: "both read with SELECT … FOR UPDATE in the transaction that writes", Strategy: "redis-setnx+row-lock", TTL: 2 * time.Second, Play: c9RowLock,
				Expect: "write(A)=ok write(B)=ok all4=holds basis(B)=A last=B"},
		},
	},
	{
		ID:   "C10",
		Says: "All through C9 Redis can recognize one holder at a time; the store still accepts both updates.",
		Cases: []Case{{About: "one run, judged in both layers", Strategy: "redis-setnx+plain", TTL: 2 * time.Second, Play: c10,
			Expect: "write(A)=ok write(B)=ok lease-exclusion=holds stale-overwrite=violated",
			Breaks: []Break{
				With("redis-setnx+version"),
				{About: "locks are released by a plain DEL", Apply: func(c *Case) {
					c.Strategy, c.TTL, c.Play = "redis-setnx-del+plain", 3*time.Second, c7
				}},
			}}},
	},
	{
		ID:   "C11",
		Says: "The lock's countdown goes on while the holder is stopped.",
		Cases: []Case{
			{Name: "a", About: "PTTL of Redis", Strategy: "redis-setnx+plain", Play: c11(false), Expect: "countdown=ended",
				Breaks: []Break{{About: "a separate process renews", Apply: func(c *Case) { c.TTL, c.Play = 2*time.Second, c11(true) }}}},
			{Name: "b", About: "TimeToLive of etcd", Strategy: "etcd+plain", TTL: 2 * time.Second, Play: c11(false), Expect: "countdown=ended"},
		},
	},
	{
		ID:   "C12",
		Says: "A needs no new lock on resume: thread, memory, connection are intact, the code reaches the write.",
		Cases: []Case{{About: "what A asks Redis between its resume and its write", Strategy: "redis-setnx+plain", TTL: 2 * time.Second, Play: c12(false),
			Expect: "write(A)=ok requests(A)=0 all3=violated",
			Breaks: []Break{Play("A checks its lock before it writes", c12(true))}}},
	},
	{
		ID:   "C13",
		Says: "A larger TTL only moves the window.",
		Cases: []Case{
			{Name: "a1", About: "TTL 1 s, a pause of half of it", Strategy: "redis-setnx+plain", TTL: time.Second, Play: c13Short, Expect: c13Harmless},
			{Name: "a2", About: "TTL 2 s, a pause of half of it", Strategy: "redis-setnx+plain", TTL: 2 * time.Second, Play: c13Short, Expect: c13Harmless},
			{Name: "a4", About: "TTL 4 s, a pause of half of it", Strategy: "redis-setnx+plain", TTL: 4 * time.Second, Play: c13Short, Expect: c13Harmless},
			{Name: "b1", About: "TTL 1 s, a pause of 1.5 times that", Strategy: "redis-setnx+plain", TTL: time.Second, Play: c9For(1.5), Expect: c13Harmful,
				Breaks: []Break{{About: "a separate process renews", Apply: func(c *Case) { c.TTL, c.Play = 2*time.Second, c15Outside }}}},
			{Name: "b2", About: "TTL 2 s, a pause of 1.5 times that", Strategy: "redis-setnx+plain", TTL: 2 * time.Second, Play: c9For(1.5), Expect: c13Harmful},
			{Name: "b4", About: "TTL 4 s, a pause of 1.5 times that", Strategy: "redis-setnx+plain", TTL: 4 * time.Second, Play: c9For(1.5), Expect: c13Harmful},
			{Name: "b-etcd", About: "etcd, TTL 2 s, a pause of 2.5 times that", Strategy: "etcd+plain", TTL: 2 * time.Second, Play: c9For(2.5), Expect: c13Harmful},
		},
	},
}

const (
	c13Harmless = "write(A)=ok write(B)=ok all4=holds"
	c13Harmful  = "write(A)=ok write(B)=ok lease-exclusion=holds all3=violated"
)

// stoppedFor waits until the actor has been stopped for so many leases.
func (s *Stage) stoppedFor(a *Actor, leases float64) {
	until := a.stops[len(a.stops)-1].From + int64(leases*float64(s.TTL))
	s.Await(fmt.Sprintf("%s has been stopped for %.1f leases", a.Name, leases), func(context.Context) bool { return history.Now() >= until })
}

// c9LosesField looks for what B had put into the document.
func c9LosesField(s *Stage) {
	c9(s)
	s.tellField("B")
}

// c9RowLock: B has the lock of Redis, and waits for the row until A has written.
func c9RowLock(s *Stage) {
	cast := s.Cast("A", "B")
	a, b := cast[0], cast[1]
	a.Acquire()
	read := a.Enter()
	s.Stop(a)
	if !s.UntilLeaseEnded(a) || !s.TakesLock(b) {
		return
	}
	entering := b.Begin(workloads.Step{Do: history.Read})
	waited := s.awaitRowLock(b, a)
	stillStopped := s.allStopped(a)
	wrote := s.ResumeInto(a, history.Write)
	saw := entering.Wait()
	b.Write()
	b.Release()
	a.Release()
	if saw.WriteID == wrote.Op {
		s.Tell("basis(B)", "A")
	} else {
		s.Tell("basis(B)", saw.WriteID)
	}
	stop := a.stops[0]
	s.Prove(stop.From < a.LeaseEnd() && read.Return < stop.From && stop.To < wrote.Call, "A was stopped between its read and its write, from before its lease's end",
		"%d threads, stopped %.2f s before the lease's end", stop.Threads, seconds(a.LeaseEnd()-stop.From))
	s.Prove(waited && stillStopped, "B waited for a row lock of A's while A was in T", "wait_event_type Lock, blocked by A's backend")
	s.TellLast(a, b)
}

// awaitRowLock waits until an actor's statement waits for a lock of the
// database that another's transaction has. One that does not is a false.
func (s *Stage) awaitRowLock(waiting, holding *Actor) bool {
	return s.Within(5*time.Second, func(context.Context) bool {
		var blocked bool
		s.SQL([]any{&blocked}, `SELECT EXISTS (SELECT FROM pg_stat_activity w JOIN pg_stat_activity h ON h.pid = ANY (pg_blocking_pids(w.pid))
			WHERE w.application_name = $1 AND h.application_name = $2 AND w.wait_event_type = 'Lock')`, waiting.Connection(), holding.Connection())
		return blocked
	})
}

// allStopped has one more look at the actor's threads.
func (s *Stage) allStopped(a *Actor) bool {
	states, err := proc.ThreadStates(a.PID())
	return err == nil && proc.All(states, 'T')
}

func c10(s *Stage) {
	events := s.KeyEvents(0, "r")
	c9(s)
	// B's release is the last that happens to the key: A's finds nothing.
	const story = "set expired set del"
	told := s.awaitStory(events, story)
	s.Prove(told == story, "Redis told of its key: set (A), expired, set (B), and B's release", "%s", told)
	var accepted int
	s.SQL([]any{&accepted}, `SELECT count(*) FROM journal`)
	s.Say("the store accepted %d updates", accepted)
}

// c12 watches what A asks Redis between its resume and its next step's end.
func c12(checks bool) func(*Stage) {
	return func(s *Stage) {
		monitor := s.Monitor(0)
		cast := s.Cast("A", "B")
		a, b := cast[0], cast[1]
		a.Acquire()
		read := a.Enter()
		process, started := a.PID(), startOf(a)
		backend := s.backendOf(a)
		s.Stop(a)
		if !s.UntilLeaseEnded(a) || !s.TakesOver(b) {
			return
		}
		accepted := s.InJournal(b.Last(history.Write).Op)
		caught := monitor.Catch()
		seen := len(monitor.All())
		step := history.Write
		if checks {
			step = history.Check
			s.Tell("write(A)", "none")
		}
		did := s.ResumeInto(a, step)
		caught = monitor.Catch() && caught
		asked := a.asked(monitor.All()[seen:], monitor)
		a.Release()
		s.Tell("requests(A)", fmt.Sprint(asked))
		s.ProveC9(a, b, read, did, accepted)
		s.Prove(caught, "all that Redis executed was seen", "MONITOR, %d commands of this case", len(monitor.All()))
		s.Prove(a.PID() == process && startOf(a) == started && started != 0, "A is the process that it was", "pid %d, started at tick %d of the machine", process, started)
		if !checks {
			var by int
			s.SQL([]any{&by}, `SELECT backend_pid FROM journal WHERE write_id = $1`, did.Op)
			s.Prove(by == backend, "A's write came over the connection of its read", "backend %d", by)
		}
		s.TellLast(a, b)
	}
}

func startOf(a *Actor) uint64 {
	started, err := proc.StartTimeOf(a.PID())
	a.stage.must(err, "look at the process of "+a.Name)
	return started
}

// backendOf is the server's process for the actor's connection.
func (s *Stage) backendOf(a *Actor) (pid int) {
	s.SQL([]any{&pid}, `SELECT pid FROM pg_stat_activity WHERE application_name = $1`, a.Connection())
	return pid
}

// asked counts the commands that came from where the actor took its lock.
func (a *Actor) asked(commands []Command, all *Monitor) (n int) {
	from := map[string]bool{}
	for _, c := range all.Seen(func(c Command) bool { return c.Is("set") && c.Has(a.Lease().Value) }) {
		from[c.From] = true
	}
	for _, c := range commands {
		if from[c.From] {
			n++
		}
	}
	return n
}

// c13Short is a pause that ends, the write with it, before the lease does. On a
// machine that is too slow for that it is tried again, before B comes.
func c13Short(s *Stage) {
	cast := s.Cast("A", "B")
	a, b := cast[0], cast[1]
	var read, wrote workloads.Done
	var stop Stop
	var end int64
	for try := 0; try == 0 || try < 4 && wrote.Return >= end; try++ {
		a.Acquire()
		read = a.Enter()
		s.Stop(a)
		s.stoppedFor(a, 0.5)
		wrote = s.ResumeInto(a, history.Write)
		stop, end = a.stops[try], a.LeaseEnd()
		a.Release()
	}
	s.TakesOver(b)
	s.Prove(read.Return < stop.From && stop.To < wrote.Call, "A was stopped between its read and its write", "%d threads, for %.2f s", stop.Threads, seconds(stop.To-stop.From))
	s.Prove(wrote.Return < end, "A's write was answered before its lease's end", "%.2f s before", seconds(end-wrote.Return))
}
