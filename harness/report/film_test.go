package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
)

// film records the history of one made-up cell, to the format of a real one.
// Times are in ms since the workload's start.
type film struct {
	t       *testing.T
	header  history.Header
	events  []history.Event
	journal []history.JournalEntry
	at      map[string]float64 // write id to when it was accepted
	next    map[string]int     // per worker, for operation ids
	process map[string]int     // per client
}

const (
	filmStart  = 5_000_000_000_000             // ns, monotonic
	filmOffset = 1_760_000_000_000_000_000 - 5 // ns, wall clock minus monotonic
)

func ns(ms float64) int64 { return filmStart + int64(ms*1e6) }

func newFilm(t *testing.T, strategy, fault string, resources ...string) *film {
	kinds := map[string][3]string{
		"setnx": {"redis-setnx", "plain", "redis"}, "redlock": {"redlock", "plain", "redis"},
		"etcd-plain": {"etcd", "plain", "etcd"}, "etcd-fenced": {"etcd", "fenced", "etcd"},
		"etcd-claim": {"etcd", "claim", "etcd"}, "version-cas": {"none", "version", ""},
	}[strategy]
	f := &film{
		t: t, at: map[string]float64{}, next: map[string]int{}, process: map[string]int{},
		header: history.Header{
			Schema: history.Schema, Run: "film", Strategy: strategy, Fault: fault,
			Locker: kinds[0], Guard: kinds[1], LeaseBy: kinds[2], Tokens: kinds[0] == "etcd",
			TTL: int64(time.Second), Resources: resources, Workers: []string{"w1", "w2", "w3"}, Seed: 7,
		},
	}
	f.events = append(f.events, history.Event{Type: history.TypeClock, Time: ns(-20), Offset: filmOffset})
	return f
}

// op records an operation and returns its id.
func (f *film) op(worker, resource string, kind history.Kind, call, ret float64, outcome history.Outcome, set func(*history.Event)) string {
	f.next[worker]++
	client := worker + "/" + resource
	if f.process[client] == 0 {
		f.process[client] = 1
	}
	e := history.Event{
		Type: history.TypeInvoke, Time: ns(call), Op: fmt.Sprintf("%s-%d", worker, f.next[worker]),
		Process: fmt.Sprintf("%s#%d", client, f.process[client]), Worker: worker, Client: client,
		Resource: resource, Kind: kind,
	}
	done := history.Event{Type: history.TypeComplete, Time: ns(ret), Op: e.Op, Outcome: outcome}
	if set != nil {
		set(&e)
	}
	// What only the reply tells stands on the second line.
	if kind == history.Acquire || kind == history.Read || kind == history.Claim {
		done.Token, done.WriteID, done.LeaseCall, done.LeaseTTL = e.Token, e.WriteID, e.LeaseCall, e.LeaseTTL
		e.WriteID, e.LeaseCall, e.LeaseTTL = "", 0, 0
		if kind == history.Acquire {
			e.Token = 0
		}
	}
	if outcome == history.Info {
		f.process[client]++
	}
	f.events = append(f.events, e, done)
	return e.Op
}

// hold is what one client does under one grant.
type hold struct {
	f        *film
	worker   string
	resource string
	grant    string
	token    int64
	basis    string
}

// acquire gets the lock; the lease counts from the call.
func (f *film) acquire(worker, resource string, at float64, token int64) *hold {
	h := &hold{f: f, worker: worker, resource: resource}
	if f.header.Locker == "none" {
		return h
	}
	if f.header.Tokens {
		h.token = token
	}
	h.grant = f.op(worker, resource, history.Acquire, at-2, at, history.OK, func(e *history.Event) {
		e.Token, e.LeaseCall, e.LeaseTTL = h.token, e.Time, f.header.TTL
	})
	return h
}

// ask is an attempt that finds the lock taken.
func (f *film) ask(worker, resource string, at float64) {
	f.op(worker, resource, history.Acquire, at, at+1, history.Fail, nil)
}

func (h *hold) read(at float64, version string) *hold {
	kind := history.Read
	if h.f.header.Guard == "claim" {
		kind = history.Claim
	}
	h.basis = version
	h.f.op(h.worker, h.resource, kind, at-1, at, history.OK, func(e *history.Event) {
		e.Grant, e.WriteID, e.Token = h.grant, version, h.token
	})
	return h
}

// write sends the document; accepted says whether the store took it.
func (h *hold) write(at float64, accepted bool) string {
	outcome := history.Rejected
	if accepted {
		outcome = history.OK
	}
	id := h.f.op(h.worker, h.resource, history.Write, at-2, at, outcome, func(e *history.Event) {
		e.Grant, e.WriteID, e.Basis, e.Token = h.grant, e.Op, h.basis, h.token
	})
	if accepted {
		h.f.at[id] = at - 1
		h.f.journal = append(h.f.journal, history.JournalEntry{
			Resource: h.resource, WriteID: id, Grant: h.grant, Basis: h.basis, LastFence: h.token, BackendPID: 4000,
			Time: time.Unix(0, ns(at-1)+filmOffset).UTC().Format("2006-01-02T15:04:05.000000Z"),
		})
	}
	return id
}

func (h *hold) release(at float64, outcome history.Outcome) {
	if h.grant != "" {
		h.f.op(h.worker, h.resource, history.Release, at-2, at, outcome, func(e *history.Event) { e.Grant = h.grant })
	}
}

// update is a whole undisturbed turn of 20 ms.
func (f *film) update(worker, resource string, at float64, token int64, version string) string {
	h := f.acquire(worker, resource, at, token).read(at+3, version)
	id := h.write(at+16, true)
	h.release(at+20, history.OK)
	return id
}

// pause stops a worker.
func (f *film) pause(id, worker string, from, to float64, kind string) {
	add := func(at float64, phase history.Phase) {
		f.events = append(f.events, history.Event{Type: history.TypeFault, Time: ns(at), Fault: &history.Fault{
			ID: id, Kind: kind, Phase: phase, Victim: worker, Point: "P3", Threads: 9,
		}})
	}
	add(from, history.Stopped)
	add(to, history.Resumed)
	add(to+40, history.Healed)
}

// see is the observer's last look at every row.
func (f *film) see(at float64) {
	seen := map[string]string{}
	for _, r := range f.header.Resources {
		seen[r] = history.InitialWrite
	}
	slices.SortStableFunc(f.journal, func(a, b history.JournalEntry) int { return cmp.Compare(f.at[a.WriteID], f.at[b.WriteID]) })
	for _, e := range f.journal {
		if f.at[e.WriteID] < at {
			seen[e.Resource] = e.WriteID
		}
	}
	f.next["obs"]++
	id := fmt.Sprintf("obs-%d", f.next["obs"])
	f.events = append(f.events,
		history.Event{Type: history.TypeInvoke, Time: ns(at), Op: id, Process: history.Observer, Kind: history.Read},
		history.Event{Type: history.TypeComplete, Time: ns(at + 1), Op: id, Outcome: history.OK, Seen: seen})
}

// save writes the cell's history and journal the way a run does.
func (f *film) save(dir string) {
	f.t.Helper()
	must(f.t, os.MkdirAll(dir, 0o755))
	rec, err := history.NewRecorder(filepath.Join(dir, "history.jsonl"))
	must(f.t, err)
	must(f.t, rec.Write(history.Event{Type: history.TypeHeader, Time: ns(-30), Header: &f.header}))
	slices.SortStableFunc(f.events, func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })
	for _, e := range f.events {
		must(f.t, rec.Write(e))
	}
	must(f.t, rec.Close())
	slices.SortStableFunc(f.journal, func(a, b history.JournalEntry) int { return cmp.Compare(f.at[a.WriteID], f.at[b.WriteID]) })
	for i := range f.journal {
		f.journal[i].Seq = int64(i + 1)
	}
	must(f.t, history.WriteJournal(filepath.Join(dir, "journal.jsonl"), f.journal))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// waiters asks for a resource every 50 ms, as two pollers do.
func (f *film) waiters(resource string, from, to float64, workers ...string) {
	for i, w := range workers {
		for at := from + 13*float64(i); at < to; at += 50 {
			f.ask(w, resource, at)
		}
	}
}

// stalePause is C9: w1 is stopped after its read, w2 and w3 update, w1 resumes
// and writes. Whether the store takes that is the strategy's affair.
func (f *film) stalePause(resource string, at, over float64) {
	refused := f.header.Guard != "plain"
	v := f.update("w3", resource, at-120, 40, history.InitialWrite)
	v = f.update("w2", resource, at-60, 40+1, v)
	old := f.acquire("w1", resource, at, 42).read(at+4, v)
	if f.header.Locker != "none" {
		f.waiters(resource, at+30, at+over-40, "w2", "w3")
	}
	next := f.acquire("w2", resource, at+over, 43).read(at+over+5, v)
	v = next.write(at+over+18, true)
	next.release(at+over+22, history.OK)
	v = f.update("w3", resource, at+over+130, 44, v)
	old.write(at+2212, !refused)
	old.release(at+2216, history.Lost)
	if !refused {
		v = f.journal[len(f.journal)-1].WriteID
	}
	f.update("w2", resource, at+2300, 45, v)
}

// latePause is C36: w1 is stopped after its read, w2 gets the lock, reads and
// waits; w1 resumes and writes before w2 does.
func (f *film) latePause(resource string, at, over float64) {
	v := f.update("w3", resource, at-60, 51, history.InitialWrite)
	old := f.acquire("w1", resource, at, 52).read(at+4, v)
	f.waiters(resource, at+30, at+over-40, "w2", "w3")
	next := f.acquire("w2", resource, at+over, 53).read(at+over+5, v)
	old.write(at+2212, f.header.Guard == "fenced")
	old.release(at+2216, history.Lost)
	v = next.write(at+2260, true)
	next.release(at+2264, history.OK)
	f.update("w3", resource, at+2350, 54, v)
}

// promises of the made-up strategies.
func promises(strategy, fault string) checkers.Contract {
	c := checkers.Contract{checkers.Progress: checkers.Promised, checkers.Durability: checkers.Promised, checkers.Register: checkers.Promised, checkers.StaleOverwrite: checkers.Promised}
	if strategy != "version-cas" {
		c[checkers.LeaseExclusion] = checkers.Promised
		c[checkers.FenceOrder] = checkers.Promised
	}
	c[checkers.RMWAtomic] = checkers.Promised
	if fault == "none" {
		return c
	}
	switch strategy {
	case "setnx", "redlock", "etcd-plain":
		for _, p := range []checkers.Property{checkers.StaleOverwrite, checkers.FenceOrder, checkers.RMWAtomic} {
			c[p] = checkers.Allowed
			if fault == "pause-holder" || p == checkers.StaleOverwrite {
				c[p] = checkers.Predicted
			}
		}
	case "etcd-fenced":
		c[checkers.RMWAtomic] = checkers.Allowed
		if fault == "pause-holder" {
			c[checkers.RMWAtomic] = checkers.Predicted
		}
	}
	return c
}

var strategies = []string{"setnx", "redlock", "etcd-plain", "etcd-fenced", "etcd-claim", "version-cas"}

// shoot makes a whole run folder: six strategies under three faults.
func shoot(t *testing.T, dir string) result.Result {
	r := result.Result{
		Schema: result.Schema, Name: "compare", Status: checkers.Pass, Seed: 7, Provider: "process",
		Versions: map[string]string{"torture": "v0.1.0", "go": "go1.26.8", "redis": "7.0.15", "etcd": "3.6.16", "postgres": "15.14"},
		Started:  "2026-05-04T09:00:00Z", Seconds: 98, TTL: "1s", Command: "torture compare --seed 7 --ttl 1s", Host: "2 cores, Linux 6.1",
	}
	for _, strategy := range strategies {
		for _, fault := range []string{"none", "pause-holder", "pause-random"} {
			r.Cells = append(r.Cells, shootCell(t, dir, strategy, fault))
		}
	}
	saveResult(t, dir, r)
	return r
}

func saveResult(t *testing.T, dir string, r result.Result) {
	t.Helper()
	text, err := json.MarshalIndent(r, "", "  ")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "result.json"), text, 0o644))
}

func shootCell(t *testing.T, dir, strategy, fault string) result.Cell {
	f := newFilm(t, strategy, fault, "r00", "r01", "r02", "r03")
	over := 1020.0 // how long after w1's grant the next one comes
	if f.header.LeaseBy == "etcd" {
		over = 1340
	}
	if f.header.Locker == "none" {
		over = 300
	}
	switch fault {
	case "none":
		for i, r := range f.header.Resources {
			v := history.InitialWrite
			for k := range 8 {
				at := 100 + float64(i*7+k*110)
				winner, loser := fmt.Sprintf("w%d", 1+(i+k)%3), fmt.Sprintf("w%d", 1+(i+k+1)%3)
				if f.header.Locker != "none" {
					f.ask(loser, r, at+6)
					v = f.update(winner, r, at, int64(10+k), v)
				} else {
					late := (&hold{f: f, worker: loser, resource: r}).read(at+5, v)
					v = f.update(winner, r, at, 0, v)
					late.write(at+25, false)
				}
			}
		}
	case "pause-holder":
		f.stalePause("r00", 400, over)
		f.stalePause("r01", 407, over)
		if f.header.Locker == "none" {
			f.stalePause("r02", 411, over)
			f.stalePause("r03", 416, over)
		} else if f.header.Guard == "plain" {
			f.stalePause("r02", 411, over+30)
			f.stalePause("r03", 416, over+22)
		} else {
			f.latePause("r02", 411, over)
			f.latePause("r03", 416, over)
		}
		f.pause("f1", "w1", 610, 2600, fault)
	case "pause-random":
		f.stalePause("r02", 700, over)
		f.update("w1", "r00", 300, 20, history.InitialWrite)
		f.pause("f1", "w1", 706, 2900, fault)
	}
	f.see(4000)
	where := filepath.Join("cells", strategy+"."+fault)
	f.save(filepath.Join(dir, where))
	return judge(t, dir, where, f, promises(strategy, fault))
}
