package claims

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/history"
)

// claimsOfRestarts: whether the numbering survives what befalls etcd.
var claimsOfRestarts = []Claim{
	{
		ID:   "C41",
		Says: "The numbering is persisted, grant and number are one commit; restart and leader change keep it.",
		Cases: []Case{
			{Name: "a", About: "the leader is stopped", Strategy: "etcd-fenced", TTL: 2 * time.Second, Own: threeMembers, Play: numberingKept(leaderStopped),
				Expect: "write(A)=rejected write(B)=ok token-order=holds all4=holds last=B"},
			{Name: "b", About: "the leader is killed", Strategy: "etcd-fenced", TTL: 2 * time.Second, Own: threeMembers, Play: numberingKept(leaderKilled),
				Expect: "write(A)=rejected write(B)=ok token-order=holds all4=holds last=B"},
			{Name: "c", About: "all members are killed and restarted", Strategy: "etcd-fenced", TTL: 2 * time.Second, Own: threeMembers, Play: numberingKept(membersRestarted),
				Expect: "write(A)=rejected write(B)=ok token-order=holds all4=holds last=B",
				Breaks: []Break{Play("they restart from an older copy", numberingKept(olderCopy))}},
		},
	},
	{
		ID:   "C42",
		Says: "Restoring an old snapshot takes the revision back; it must be handled separately.",
		Cases: []Case{
			{Name: "a", About: "restored as it is; the row has a higher number", Strategy: "etcd-fenced", TTL: time.Minute, Resources: rows, Own: oneMember, Play: restored("r", 0),
				Expect: "write(B)=rejected token=lower token-order=violated progress=violated only lease-exclusion=violated"},
			{Name: "b", About: "restored as it is; an old holder is on its way", Strategy: "etcd-fenced", TTL: time.Minute, Resources: rows, Own: oneMember, Play: restored("s", 0),
				Expect: "write(B)=ok write(A)=ok token=lower token-order=violated all4=violated"},
			{Name: "c", About: "restored with the revision raised", Strategy: "etcd-fenced", TTL: time.Minute, Resources: rows, Own: oneMember, Play: restored("s", bump),
				Expect: "write(B)=ok write(A)=rejected token=higher only lease-exclusion=violated",
				Breaks: []Break{Play("without the raise", restored("s", 0))}},
		},
	},
}

var (
	threeMembers = &cluster.Spec{Etcd: 3, Postgres: true}
	oneMember    = &cluster.Spec{Etcd: 1, Postgres: true}
	rows         = []string{"r", "s"}
)

// bump is by how much the revision is raised in a restore, as etcd's
// documentation of disaster recovery proposes.
const bump = 1_000_000_000

// upheaval is something that all of etcd suffers.
type upheaval struct {
	before  func(s *Stage)                         // anybody was granted anything; may be nil
	happens func(s *Stage, leader *cluster.Server) //
	all     bool                                   // no member stays the process it was
}

// numberingKept: C9, and etcd suffers something before B is granted the lock.
func numberingKept(u upheaval) func(*Stage) {
	return func(s *Stage) {
		if u.before != nil {
			u.before(s)
		}
		a := s.Cast("A")[0]
		a.Acquire()
		read := a.Enter()
		leader, term := s.leader(0)
		s.Stop(a)
		processes := s.etcdProcesses()
		u.happens(s, leader)
		if u.all {
			s.proveOthers(processes, s.etcdProcesses())
		} else {
			next, nextTerm := s.leader(term)
			s.Prove(next != leader && nextTerm > term, "etcd has another leader, in a higher term", "%s in term %d, %s in term %d", leader.Name, term, next.Name, nextTerm)
		}
		// B comes now, so that its client meets the members that are there.
		b := s.Cast("B")[0]
		if !s.UntilLeaseEnded(a) || !s.TakesOver(b) {
			return
		}
		accepted := s.InJournal(b.Last(history.Write).Op)
		wrote := s.ResumeInto(a, history.Write)
		s.ProveC9(a, b, read, wrote, accepted)
		s.Say("tokens %d and %d", a.Last(history.Acquire).Token, b.Last(history.Acquire).Token)
		s.TellLast(a, b)
	}
}

// etcdProcesses are when the members' processes were started, as they say.
func (s *Stage) etcdProcesses() []string {
	ctx, cancel := s.Context()
	defer cancel()
	var all []string
	for _, m := range s.Servers.Cluster.Etcd {
		all = append(all, s.startOf(ctx, m))
	}
	return all
}

// startOf reads process_start_time_seconds among the metrics of a member.
func (s *Stage) startOf(ctx context.Context, m *cluster.Server) string {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.Addr+"/metrics", nil)
	s.must(err, "ask "+m.Name)
	answer, err := http.DefaultClient.Do(ask)
	s.must(err, "ask "+m.Name)
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if start, found := strings.CutPrefix(lines.Text(), "process_start_time_seconds "); found {
			return start
		}
	}
	s.fail(fmt.Errorf("%s does not say when it was started", m.Name))
	return ""
}

// proveOthers: every member is another process than before.
func (s *Stage) proveOthers(before, after []string) {
	same := 0
	for i := range before {
		if before[i] == after[i] {
			same++
		}
	}
	s.Prove(same == 0, "all members are new processes", "%d of %d are the old ones", same, len(before))
}

// leader waits until etcd has a leader of another term than one.
func (s *Stage) leader(notOf uint64) (leader *cluster.Server, term uint64) {
	s.Await("etcd has a leader", func(ctx context.Context) bool {
		var err error
		leader, term, err = s.Servers.Cluster.EtcdLeader(ctx)
		return err == nil && term != notOf
	})
	return leader, term
}

var (
	leaderStopped    = upheaval{happens: func(s *Stage, leader *cluster.Server) { s.StopServer(leader) }}
	leaderKilled     = upheaval{happens: func(s *Stage, leader *cluster.Server) { s.KillServer(leader) }}
	membersRestarted = upheaval{all: true, happens: restartMembers}
	olderCopy        = upheaval{
		all: true,
		before: func(s *Stage) {
			s.takeSnapshot()
			s.writeOthers(100)
		},
		happens: func(s *Stage, _ *cluster.Server) { s.restoreSnapshot(0) },
	}
)

func restartMembers(s *Stage, _ *cluster.Server) {
	ctx, cancel := s.Context()
	defer cancel()
	c, id := s.Servers.Cluster, s.FaultID("kill-server")
	s.must(c.KillAll(ctx, c.Etcd...), "kill etcd")
	s.Fault(id, "kill-server", history.Killed, "etcd", "")
	s.must(c.RestartAll(ctx, c.Etcd...), "restart etcd")
	s.Fault(id, "kill-server", history.Healed, "etcd", "")
	s.Say("all members were killed and restarted")
}

// snapshot is where the copy of etcd's data is.
func (s *Stage) snapshot() string { return s.path("snapshot.db") }

func (s *Stage) takeSnapshot() {
	ctx, cancel := s.Context()
	defer cancel()
	s.must(s.Servers.Cluster.EtcdSnapshot(ctx, s.snapshot()), "snapshot")
}

// restoreSnapshot puts the copy in the place of all members' data.
func (s *Stage) restoreSnapshot(bump uint64) {
	ctx, cancel := s.Context()
	defer cancel()
	id := s.FaultID("restore")
	s.Fault(id, "restore", history.Killed, "etcd", "")
	s.must(s.Servers.Cluster.EtcdRestore(ctx, s.snapshot(), bump), "restore")
	s.Fault(id, "restore", history.Healed, "etcd", "")
	s.Say("etcd was restored from an older snapshot")
}

// restored: a snapshot is taken while all locks are free; H is granted r and
// writes, A is granted s, reads and is stopped; etcd is restored; B is granted
// the lock of one of the two, reads and writes; A goes on and writes.
func restored(on string, bump uint64) func(*Stage) {
	return func(s *Stage) {
		s.takeSnapshot()
		s.writeOthers(100)
		cast := s.Parts(Part{Name: "H", Resource: "r"}, Part{Name: "A", Resource: "s"})
		h, a := cast[0], cast[1]
		h.Acquire()
		h.Enter()
		h.Write()
		took := a.Acquire()
		read := a.Enter()
		s.Stop(a)
		s.restoreSnapshot(bump)
		b := s.Parts(Part{Name: "B", Resource: on})[0]
		if !s.TakesLock(b) {
			return
		}
		b.Enter()
		b.Write()
		wrote := s.ResumeInto(a, history.Write)

		of, token := h, b.Last(history.Acquire).Token
		if on == a.Resource {
			of = a
		}
		before := of.Last(history.Acquire).Token
		told := "lower"
		if token > before {
			told = "higher"
		}
		s.Tell("token", told)
		stop := a.stops[0]
		s.Prove(b.Last(history.Acquire).Return < min(h.LeaseEnd(), a.LeaseEnd()), "B was granted the lock while the leases of H and A lasted", "%.1f s before their end", seconds(min(h.LeaseEnd(), a.LeaseEnd())-b.Last(history.Acquire).Return))
		s.Prove(took.Return < read.Call && read.Return < stop.From && b.Last(history.Write).Return < stop.To && stop.To < wrote.Call,
			"A was stopped between its read and its write, until B's was answered", "%d threads, %.1f s", stop.Threads, seconds(stop.To-stop.From))
		s.Prove(token != before, "B's token is another than that of the older grant", "%d after %d", token, before)
	}
}
