package explore

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness"
	"github.com/torture-harness/torture/harness/explore/view"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

// pretend is servers that do what the model says, step by step, and record it as
// real workers and the harness do. What it does otherwise is a field.
type pretend struct {
	t        *testing.T
	plan     CellPlan
	strategy workloads.Strategy
	dir      string
	recorder *history.Recorder
	journal  []history.JournalEntry
	now      int64
	id       int

	otherwise func(id string, i int, b *Beat) // changes what the servers do
	neverStop bool
	lateStop  bool // the lease is over when its holder is stopped
	unheld    bool // no write is ever held
	overlap   bool // a release ends behind the beginning of the next step
	lasting   bool // the server still shows the lease
}

const pretendTTL = time.Second

func pretending(t *testing.T, strategy string, clients int, ids []string) *pretend {
	t.Helper()
	s, _, _ := modelled(t, strategy)
	return &pretend{t: t, strategy: s, dir: t.TempDir(), now: 1e9,
		plan: CellPlan{Schema: PlanSchema, Run: "t0", Strategy: strategy, Clients: clients, Expiry: Natural, TTL: pretendTTL, Contract: contractOf(s), Schedules: ids}}
}

// save plays all schedules, one after the other, and saves the files of a cell.
func (p *pretend) save() string {
	p.t.Helper()
	must := func(err error) {
		p.t.Helper()
		if err != nil {
			p.t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(p.dir, "parts"), 0o755))
	var err error
	p.recorder, err = history.NewRecorder(filepath.Join(p.dir, "parts", "all.jsonl"))
	must(err)
	var ran []Ran
	m, err := ModelOf(p.strategy)
	must(err)
	for _, id := range p.plan.Schedules {
		moves, err := ProgramOf(p.strategy).Moves(id)
		must(err)
		p.play(id, m.Forecast(moves))
		ran = append(ran, Ran{ID: id, Tries: []Try{{Resource: id}}})
	}
	must(p.recorder.Close())
	locker := p.strategy.Locker.Name
	if locker == "" {
		locker = "none"
	}
	must(history.MergeParts(p.dir, history.Header{Schema: history.Schema, Run: "t0", Strategy: p.plan.Strategy, Fault: "explore", Locker: locker, Guard: p.strategy.Guard.Name,
		LeaseBy: p.strategy.Locker.LeaseBy, Tokens: p.strategy.Locker.Tokens, TTL: int64(pretendTTL), Resources: p.plan.Schedules}))
	must(history.WriteJournal(filepath.Join(p.dir, "journal.jsonl"), p.journal))
	must(harness.SaveJSON(filepath.Join(p.dir, "plan.json"), p.plan))
	must(harness.SaveJSON(filepath.Join(p.dir, "ran.json"), ran))
	return p.dir
}

func (p *pretend) tick() int64 {
	p.now += 1e6
	return p.now
}

func (p *pretend) record(e history.Event) {
	if err := p.recorder.Write(e); err != nil {
		p.t.Fatal(err)
	}
}

// player is a client of one schedule.
type player struct {
	grant, basis, write string
	token               int64
	lease               int64 // its end
	stop, hold          string
}

func (p *pretend) play(id string, f Forecast) {
	people := make([]player, Clients(movesOf(f)))
	worker := func(c int) string { return view.WorkerName("p01", Name(c)) }
	fault := func(kind string, phase history.Phase, client int, name string) string {
		if name == "" {
			p.id++
			name = fmt.Sprintf("%s/%s-%d", id, kind, p.id)
		}
		p.record(history.Event{Type: history.TypeFault, Time: p.tick(), Worker: worker(client),
			Fault: &history.Fault{ID: name, Kind: kind, Phase: phase, Victim: worker(client), Threads: 7, Bytes: map[string]int{id: 9}}})
		return name
	}
	invoke := func(c int, e history.Event) history.Event {
		p.id++
		e.Type, e.Time, e.Op, e.Worker, e.Client, e.Resource = history.TypeInvoke, p.tick(), fmt.Sprintf("o%d", p.id), worker(c), Name(c)+"/"+id, id
		e.Process = e.Client + "#1"
		p.record(e)
		return e
	}
	complete := func(invoked, e history.Event) {
		e.Type, e.Time, e.Op = history.TypeComplete, p.tick(), invoked.Op
		if p.overlap && invoked.Kind == history.Release {
			e.Time += 3e6
		}
		p.record(e)
	}
	current, version, tokens := history.InitialWrite, int64(0), int64(0)
	pending := map[int]history.Event{}
	for i := range f.Beats {
		b := f.Beats[i]
		if p.otherwise != nil {
			p.otherwise(id, i, &b)
		}
		me := &people[b.Client]
		if b.Stop >= 0 && b.Outcome != Skipped && !p.neverStop {
			if p.lateStop {
				p.now = people[b.Stop].lease + 1e6
			}
			people[b.Stop].stop = fault(view.Stop, history.Stopped, b.Stop, "")
		}
		if b.Stop >= 0 && b.Outcome != Skipped {
			p.now = max(p.now, people[b.Stop].lease+5e6)
		}
		if me.stop != "" {
			fault(view.Stop, history.Resumed, b.Client, me.stop)
			me.stop = ""
		}
		if b.Outcome == Skipped {
			continue
		}
		done := history.Event{Outcome: b.Outcome}
		switch b.Do {
		case history.Acquire:
			tokens++
			op := invoke(b.Client, history.Event{Kind: b.Do})
			me.grant, me.lease = op.Op, op.Time+int64(pretendTTL)
			if p.strategy.Locker.Tokens && !p.strategy.Locker.Draws {
				me.token = tokens
			}
			done.Grant, done.Token, done.LeaseCall, done.LeaseTTL = op.Op, me.token, op.Time, int64(pretendTTL)
			complete(op, done)
			if b.Stop >= 0 && !p.neverStop {
				seen := history.Healed
				if p.lasting {
					seen = history.Failed
				}
				fault(view.Lease, seen, b.Stop, "")
			}
		case history.Draw:
			tokens++
			me.token, done.Token = tokens, tokens
			complete(invoke(b.Client, history.Event{Kind: b.Do, Grant: me.grant}), done)
		case history.Read, history.Claim:
			op := history.Event{Kind: b.Do, Grant: me.grant}
			if b.Do == history.Claim {
				op.Token = me.token
			}
			op = invoke(b.Client, op)
			if b.Outcome == history.OK {
				me.basis, done.WriteID, done.Version = current, current, version
			}
			complete(op, done)
		case history.Write:
			if b.Phase != Landed {
				p.id++
				me.write = fmt.Sprintf("w%d", p.id)
				pending[b.Client] = invoke(b.Client, history.Event{Kind: b.Do, Grant: me.grant, WriteID: me.write, Basis: me.basis, Token: me.token})
			}
			if b.Phase == Sent {
				if !p.unheld {
					me.hold = fault(view.Hold, history.Held, b.Client, "")
				}
				continue
			}
			if me.hold != "" {
				fault(view.Hold, history.Released, b.Client, me.hold)
			}
			if b.Outcome == history.OK {
				version++
				p.journal = append(p.journal, history.JournalEntry{Seq: int64(len(p.journal) + 1), Resource: id, WriteID: me.write, Grant: me.grant, Basis: me.basis, Time: "2026-11-30T09:00:00.000000Z"})
				current = me.write
			}
			complete(pending[b.Client], done)
			if b.Outcome == history.Rejected {
				op := invoke(b.Client, history.Event{Kind: history.Read, Grant: me.grant})
				complete(op, history.Event{Outcome: history.OK, WriteID: current})
			}
		case history.Renew:
			op := invoke(b.Client, history.Event{Kind: b.Do, Grant: me.grant})
			if b.Outcome == history.OK {
				me.lease = op.Time + int64(pretendTTL)
				done.LeaseCall, done.LeaseTTL = op.Time, int64(pretendTTL)
			}
			complete(op, done)
		default:
			complete(invoke(b.Client, history.Event{Kind: b.Do, Grant: me.grant}), done)
		}
	}
	as := history.Observer + "/" + id
	p.id++
	op := history.Event{Type: history.TypeInvoke, Time: p.tick() + 5e6, Op: fmt.Sprintf("o%d", p.id), Process: as, Client: as, Resource: id, Kind: history.Read}
	p.record(op)
	p.now = op.Time
	p.record(history.Event{Type: history.TypeComplete, Time: p.tick(), Op: op.Op, Outcome: history.OK, WriteID: current})
}

func movesOf(f Forecast) []Move {
	var moves []Move
	for _, b := range f.Beats {
		moves = append(moves, b.Move)
	}
	return moves
}
