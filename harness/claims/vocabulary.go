package claims

import (
	"context"
	"slices"
	"time"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

// Stop stops the actor's process with SIGSTOP; all its threads are proven to be
// stopped when it returns.
func (s *Stage) Stop(a *Actor) {
	ctx, cancel := s.Context()
	defer cancel()
	threads, at, err := a.player.Stop(ctx)
	s.must(err, "stop "+a.Name)
	id := s.FaultID("stop")
	a.stops = append(a.stops, Stop{ID: id, From: at, To: history.Never, Threads: threads})
	s.Record(history.Event{Type: history.TypeFault, Time: at, Worker: a.Worker, Fault: &history.Fault{ID: id, Kind: "stop", Phase: history.Stopped, Victim: a.Worker, Threads: threads}})
	s.Say("%s was stopped (%d threads)", a.Name, threads)
	s.Heal(func() { s.Resume(a) })
}

// Resume lets the actor go on, if it is stopped.
func (s *Stage) Resume(a *Actor) {
	last := len(a.stops) - 1
	if a.gone || last < 0 || a.stops[last].To != history.Never {
		return
	}
	at := history.Now()
	s.Record(history.Event{Type: history.TypeFault, Time: at, Worker: a.Worker, Fault: &history.Fault{ID: a.stops[last].ID, Kind: "stop", Phase: history.Resumed, Victim: a.Worker}})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := a.player.Continue(ctx)
	if err == nil {
		a.stops[last].To = at
		s.Say("%s went on after %.1f leases", a.Name, float64(at-a.stops[last].From)/float64(s.TTL))
	}
}

// ResumeInto lets the actor go on with a step that was in its pipe before.
func (s *Stage) ResumeInto(a *Actor, kind history.Kind) workloads.Done {
	d := a.Begin(workloads.Step{Do: kind})
	s.Resume(a)
	return d.Wait()
}

// Kill kills the actor's process (-9), stopped or not.
func (s *Stage) Kill(a *Actor) {
	ctx, cancel := s.Context()
	defer cancel()
	a.gone = true
	s.must(a.player.Kill(ctx), "kill "+a.Name)
	s.Record(history.Event{Type: history.TypeWorker, Time: history.Now(), Worker: a.Worker, Status: "killed", PID: a.PID()})
	s.Record(history.Event{Type: history.TypeFault, Time: history.Now(), Worker: a.Worker, Fault: &history.Fault{ID: s.FaultID("kill"), Kind: "kill", Phase: history.Killed, Victim: a.Worker}})
	s.Say("%s was killed", a.Name)
}

// UntilLeaseEnded waits until the lock's server no longer has the actor's
// lease, as a look at the server shows. One that does not end in 5 leases is
// told as "no handover"; then it is false.
func (s *Stage) UntilLeaseEnded(a *Actor) bool {
	lease := a.Lease()
	if s.Within(5*s.TTL+time.Second, func(ctx context.Context) bool { return s.Servers.Gone(ctx, a.Strategy.Locker, lease) }) {
		s.Say("its lease ended %.2f leases after it had begun", float64(history.Now()-a.last[history.Acquire].LeaseCall)/float64(s.TTL))
		return true
	}
	s.Tell(noHandover, "")
	s.Say("its lease did not end")
	return false
}

// TakesOver has an actor acquire, read, write and release. A lock that it does
// not get is told as "no handover"; then it is false.
func (s *Stage) TakesOver(b *Actor) bool {
	if !s.TakesLock(b) {
		return false
	}
	b.Enter()
	b.Write()
	b.Release()
	return true
}

// TakesLock has an actor acquire, and draw its token where that is a request of
// its own. A lock that it does not get is told as "no handover".
func (s *Stage) TakesLock(b *Actor) bool {
	if _, ok := b.TryFor(6*s.TTL + time.Second); !ok {
		s.Tell(noHandover, "")
		s.Say("%s did not get the lock", b.Name)
		return false
	}
	if b.Strategy.Locker.Draws {
		b.Draw()
	}
	return true
}

// InJournal reports whether the store has accepted a write by now.
func (s *Stage) InJournal(writeID string) bool {
	ctx, cancel := s.Context()
	defer cancel()
	entries, err := s.store.Journal(ctx)
	s.must(err, "ask the journal")
	return slices.ContainsFunc(entries, func(e history.JournalEntry) bool { return e.WriteID == writeID })
}

// TellLast tells whose write is read last, of those actors: last=A.
func (s *Stage) TellLast(actors ...*Actor) {
	ctx, cancel := s.Context()
	defer cancel()
	seen, err := s.store.Current(ctx)
	s.must(err, "read the documents")
	id := seen[s.resources()[0]]
	for _, a := range actors {
		if a.Last(history.Write).Op == id {
			s.Tell("last", a.Name)
			return
		}
	}
	s.Tell("last", id)
}

// tellField tells whether the document has what an actor has put into it:
// field(B)=gone.
func (s *Stage) tellField(name string) {
	var there bool
	s.SQL([]any{&there}, `SELECT payload->'fields' ? $1 FROM config WHERE id = 0`, name)
	s.Tell("field("+name+")", map[bool]string{true: "there", false: "gone"}[there])
}

// SQL asks the database of the case for one row.
func (s *Stage) SQL(into []any, sql string, args ...any) {
	ctx, cancel := s.Context()
	defer cancel()
	s.must(s.store.QueryRow(ctx, sql, args...).Scan(into...), sql)
}

// ExecSQL runs a statement in the schema of the case.
func (s *Stage) ExecSQL(sql string, args ...any) error {
	ctx, cancel := s.Context()
	defer cancel()
	return s.store.Exec(ctx, sql, args...)
}

// ProveStopped: every thread of a was stopped from before its lease's end until
// the moment at which the new holder's write was answered, and, of its own
// steps, before came before the stop and after after it.
func (s *Stage) ProveStopped(a *Actor, until int64, before, after workloads.Done) {
	s.ProveStoppedUntil("the new holder's write was answered", a, until, before, after)
}

// ProveStoppedUntil is ProveStopped until another moment.
func (s *Stage) ProveStoppedUntil(what string, a *Actor, until int64, before, after workloads.Done) {
	if len(a.stops) == 0 {
		s.Prove(false, a.Name+" was stopped", "it was not")
		return
	}
	stop := a.stops[len(a.stops)-1]
	s.Prove(stop.From < a.LeaseEnd() && stop.To > until && stop.Threads > 0,
		"all threads of "+a.Name+" in state T from before its lease's end until "+what,
		"%d threads, stopped %.2f s before the lease's end, for %.2f s", stop.Threads, seconds(a.LeaseEnd()-stop.From), seconds(stop.To-stop.From))
	s.Prove(before.Return < stop.From && stop.To < after.Call, "the stop lies between "+string(before.Kind)+" and "+string(after.Kind),
		"%.3f s after the one, %.3f s before the other", seconds(stop.From-before.Return), seconds(after.Call-stop.To))
}

// ProveC9: a was stopped between its read (or check) and its next step, b took over and
// its write was accepted before a went on. accepted is what InJournal said then.
func (s *Stage) ProveC9(a, b *Actor, before, after workloads.Done, accepted bool) {
	took, wrote := b.Last(history.Acquire), b.Last(history.Write)
	s.ProveStopped(a, wrote.Return, before, after)
	s.Prove(a.Last(history.Acquire).Return < took.Call, b.Name+" asked for the lock after "+a.Name+" had it", "%.2f s later", seconds(took.Call-a.Last(history.Acquire).Return))
	s.Prove(accepted, b.Name+"'s write was in the journal before "+a.Name+" went on", "%s", wrote.Op)
}

func seconds(ns int64) float64 { return float64(ns) / float64(time.Second) }

// KillServer kills a server of the case's own (-9) and returns how to start it
// again, with its data.
func (s *Stage) KillServer(server *cluster.Server) (restart func()) {
	ctx, cancel := s.Context()
	defer cancel()
	id := s.FaultID("kill-server")
	s.must(server.Kill(ctx), "kill "+server.Name)
	s.Fault(id, "kill-server", history.Killed, server.Name, "")
	return func() {
		ctx, cancel := s.Context()
		defer cancel()
		s.must(server.Restart(ctx), "restart "+server.Name)
		s.Fault(id, "kill-server", history.Healed, server.Name, "")
	}
}

// AtOnce does several things at once, and returns when all have ended. The
// first that ends the script ends it.
func (s *Stage) AtOnce(do ...func()) {
	ends := make(chan any, len(do))
	for _, one := range do {
		go func() {
			defer func() { ends <- recover() }()
			one()
		}()
	}
	var first any
	for range do {
		if end := <-ends; end != nil && first == nil {
			first = end
		}
	}
	if first != nil {
		panic(first)
	}
}
