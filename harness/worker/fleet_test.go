package worker

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/cluster/clustertest"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/proc"
	"github.com/torture-harness/torture/nemesis"
	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/guard"
	"github.com/torture-harness/torture/workloads/lock"
)

var resources = []string{"r00", "r01", "r02"}

// scene is real servers, a fleet, and what was recorded and told.
type scene struct {
	*Fleet
	dir      string
	recorder *history.Recorder

	mu   sync.Mutex
	pids []int
	seen []nemesis.Seen
}

func TestFleet(t *testing.T) {
	c := clustertest.Start(t, cluster.Spec{Redis: 1, Postgres: true})
	for _, one := range []struct {
		name string
		test func(*testing.T, *scene)
	}{
		{"a life", life},
		{"an end that nobody asked for", killedByOthers},
		{"a line that is none", lineThatIsNone},
		{"a command that is unknown", unknownCommand},
		{"the supervisor is gone", supervisorGone},
		{"something that is no report", noReport},
		{"destroy", destroy},
		{"who is not there", notThere},
		{"no servers", noServers},
		{"no strategy", noStrategy},
		{"no time", noTime},
		{"nobody may know of it", notTold},
	} {
		t.Run(one.name, func(t *testing.T) { one.test(t, open(t, c)) })
	}
}

// open makes fresh rows and a fleet that has not started.
func open(t *testing.T, c *cluster.Cluster) *scene {
	t.Helper()
	conn, err := pgx.Connect(soon(t), c.PostgresDSN())
	must(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(soon(t), `DROP TABLE IF EXISTS config; `+guard.Table)
	must(t, err)
	for i := range resources {
		_, err := conn.Exec(soon(t), `INSERT INTO config (id, payload) VALUES ($1, '{"write_id": "init", "fields": {}}')`, i)
		must(t, err)
	}

	s := &scene{dir: t.TempDir()}
	s.recorder, err = history.NewRecorder(s.part("harness"))
	must(t, err)
	setup := Setup{
		Cell: t.Name(), Strategy: "setnx", Resources: resources, Seed: 1,
		Places: workloads.Places{Postgres: c.PostgresDSN(), Redis: []lock.Server{{Addr: c.Redis[0].Addr, Password: c.Redis[0].Password}}},
		TTL:    20 * time.Second, Patience: 30 * time.Second, // nothing ends by itself
		Pace: workloads.Pace{Think: time.Millisecond, Idle: 10 * time.Millisecond},
	}
	s.Fleet, err = NewFleet(setup, s.dir, s.dir, s.told, func(e history.Event) {
		if err := s.recorder.Write(e); err != nil {
			t.Error(err)
		}
	})
	must(t, err)
	stop := s.Listen(func(seen nemesis.Seen) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen = append(s.seen, seen)
	})
	t.Cleanup(func() {
		s.Destroy(soon(t))
		stop()
		for _, pid := range s.pids {
			await(t, "the end of a worker", func() bool { return gone(pid) })
		}
		must(t, s.recorder.Close())
	})
	return s
}

func (s *scene) part(name string) string { return filepath.Join(s.dir, name+".jsonl") }

func (s *scene) told(pid int, start uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pids = append(s.pids, pid)
	return nil
}

func (s *scene) pid(t *testing.T, name string) int {
	t.Helper()
	m, err := s.member(name)
	must(t, err)
	return m.process.Pid()
}

// saw counts what was told and fits.
func (s *scene) saw(fits func(nemesis.Seen) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, seen := range s.seen {
		if fits(seen) {
			n++
		}
	}
	return n
}

// wrote is a write of a worker that was accepted after a moment.
func wrote(worker string, after int64) func(nemesis.Seen) bool {
	return func(s nemesis.Seen) bool {
		return s.Worker == worker && s.Progress != nil && s.Progress.Kind == history.Write && s.Progress.Outcome == history.OK && s.Progress.Call > after
	}
}

// history puts together what everybody recorded.
func (s *scene) history(t *testing.T) *history.History {
	t.Helper()
	parts := []string{s.part("harness")}
	for _, w := range s.All() {
		parts = append(parts, s.part(w))
	}
	var merged bytes.Buffer
	_, err := history.Merge(&merged, history.Header{Run: t.Name(), Resources: resources}, parts...)
	must(t, err)
	h, err := history.Parse(&merged, "history.jsonl")
	must(t, err)
	must(t, h.Validate())
	return h
}

func gone(pid int) bool {
	state, err := proc.StateOf(pid)
	return err != nil || state == 'Z'
}

// threads are the states of all threads, looked up without the supervisor.
func threads(t *testing.T, pid int) string {
	t.Helper()
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	must(t, err)
	var states []byte
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		must(t, err)
		states = append(states, text[bytes.LastIndexByte(text, ')')+2])
	}
	return string(states)
}

func (s *scene) wantAlive(t *testing.T, want ...string) {
	t.Helper()
	if got := s.Alive(); !slices.Equal(got, want) {
		t.Fatalf("alive are %v, want %v", got, want)
	}
}

func (s *scene) wantNoFailure(t *testing.T) {
	t.Helper()
	select {
	case err := <-s.Failed():
		t.Errorf("a worker is said to have failed: %v", err)
	default:
	}
}

// life is what a cell does with its workers, from start to finish.
func life(t *testing.T, s *scene) {
	ctx := soon(t)
	must(t, s.Start(ctx, 3))
	s.wantAlive(t, "w1", "w2", "w3")
	must(t, s.Arm("w1", workloads.AfterRead, nil))
	begun := history.Now()
	must(t, s.Begin())
	for _, r := range resources {
		await(t, "w1 to arrive with "+r, func() bool {
			return s.saw(func(seen nemesis.Seen) bool {
				return seen.Worker == "w1" && seen.Point == workloads.AfterRead && seen.Resource == r && seen.Time > begun
			}) == 1
		})
	}

	n, err := s.Stop(ctx, "w1")
	must(t, err)
	stopped := history.Now()
	pid := s.pid(t, "w1")
	if states := threads(t, pid); states != strings.Repeat("T", n) || n < 2 {
		t.Errorf("%d threads are proven stopped, their states are %q", n, states)
	}
	if _, err := s.Stop(ctx, "w1"); err == nil {
		t.Error("a stopped worker was stopped again")
	}
	// Said while it is stopped, heard when it goes on.
	must(t, s.Disarm("w1"))
	must(t, s.Go("w1", nil))
	await(t, "a pause worth the name", func() bool { return history.Now()-stopped > int64(300*time.Millisecond) })
	if states := threads(t, pid); states != strings.Repeat("T", n) {
		t.Errorf("the states of its threads became %q", states)
	}
	if s.saw(wrote("w1", begun)) > 0 {
		t.Error("w1 wrote though it was to wait")
	}
	resumed := history.Now()
	must(t, s.Continue(ctx, "w1"))
	await(t, "the writes of w1", func() bool { return s.saw(wrote("w1", resumed)) >= len(resources) })

	must(t, s.Kill(ctx, "w2"))
	killed := history.Now()
	s.wantAlive(t, "w1", "w3")
	if err := s.Arm("w2", workloads.AfterRead, nil); err == nil {
		t.Error("a killed worker could be told something")
	}
	name, err := s.Replace(ctx)
	must(t, err)
	if name != "w4" {
		t.Errorf("w2 was replaced by %s", name)
	}
	s.wantAlive(t, "w1", "w3", "w4")
	await(t, "a write of w4", func() bool { return s.saw(wrote("w4", killed)) > 0 })

	// Who waits when the end comes is let go.
	must(t, s.Arm("w3", workloads.AfterRead, nil))
	await(t, "w3 to arrive", func() bool {
		return s.saw(func(seen nemesis.Seen) bool { return seen.Worker == "w3" && seen.Point != "" }) > 0
	})
	must(t, s.Finish(ctx))
	s.wantNoFailure(t)
	if got := s.All(); !slices.Equal(got, []string{"w1", "w2", "w3", "w4"}) {
		t.Errorf("there were %v", got)
	}

	h := s.history(t)
	for _, op := range h.Operations {
		if op.Worker == "w1" && op.Call > stopped && op.Call < resumed {
			t.Errorf("w1 called %s while it was stopped", op.Kind)
		}
		if op.Worker == "w2" && op.Call > killed {
			t.Errorf("w2 called %s when it was dead", op.Kind)
		}
	}
	var status []string
	stall := int64(0)
	for _, e := range h.Events {
		switch {
		case e.Type == history.TypeWorker:
			status = append(status, e.Worker+" "+e.Status)
		case e.Type == history.TypeStall && e.Worker == "w1" && e.Time > resumed:
			stall = max(stall, e.Gap)
		}
	}
	slices.Sort(status)
	if want := []string{"w1 started", "w2 killed", "w2 started", "w3 started", "w4 started"}; !slices.Equal(status, want) {
		t.Errorf("recorded of workers: %q, want %q", status, want)
	}
	if stall < resumed-stopped {
		t.Errorf("w1 noticed a stall of %s, it was stopped for %s", time.Duration(stall), time.Duration(resumed-stopped))
	}
}

// wantFailure returns what the first failure says.
func (s *scene) wantFailure(t *testing.T, words ...string) {
	t.Helper()
	select {
	case err := <-s.Failed():
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("the failure %q does not say %q", err, w)
			}
		}
	case <-soon(t).Done():
		t.Fatal("no failure was noticed")
	}
}

func killedByOthers(t *testing.T, s *scene) {
	must(t, s.Start(soon(t), 2))
	must(t, s.Begin())
	must(t, syscall.Kill(s.pid(t, "w2"), syscall.SIGKILL))
	s.wantFailure(t, "worker w2", "killed", filepath.Join(s.dir, "w2.log"))
	events, err := os.ReadFile(s.part("harness"))
	must(t, err)
	if !strings.Contains(string(events), `"status":"exited"`) {
		t.Error("the end is not recorded")
	}
}

// failing starts a worker that will not end well after line, and wants it to
// say why.
func failing(t *testing.T, s *scene, line string, words ...string) {
	t.Helper()
	must(t, s.Start(soon(t), 1))
	must(t, s.Begin())
	m, err := s.member("w1")
	must(t, err)
	if line == "" {
		must(t, m.in.Close())
	} else {
		_, err = m.in.WriteString(line + "\n")
		must(t, err)
	}
	s.wantFailure(t, words...)
	<-m.process.Done()
	if m.process.Err() == nil {
		t.Error("its exit code is 0")
	}
}

func lineThatIsNone(t *testing.T, s *scene) {
	failing(t, s, `{"do":`, "worker w1", "line 3 of standard input")
}

func unknownCommand(t *testing.T, s *scene) {
	failing(t, s, `{"do":"dance"}`, "worker w1", "line 3 of standard input", `"dance"`)
}

func supervisorGone(t *testing.T, s *scene) { failing(t, s, "", "worker w1", "supervisor is gone") }

func noReport(t *testing.T, s *scene) {
	t.Setenv(babble, "1")
	must(t, s.Start(soon(t), 1))
	s.wantFailure(t, "worker w1", "line 1 of its standard output")
	if err := s.Finish(soon(t)); err == nil || !strings.Contains(err.Error(), "standard output") {
		t.Errorf("at the end it is forgotten: %v", err)
	}
}

func destroy(t *testing.T, s *scene) {
	must(t, s.Start(soon(t), 2))
	must(t, s.Begin())
	_, err := s.Stop(soon(t), "w1")
	must(t, err)
	pids := []int{s.pid(t, "w1"), s.pid(t, "w2")}
	s.Destroy(soon(t))
	for _, pid := range pids {
		if !gone(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
	s.wantAlive(t)
	s.wantNoFailure(t)
}

func notThere(t *testing.T, s *scene) {
	ctx := soon(t)
	_, err := s.Stop(ctx, "w9")
	for what, err := range map[string]error{
		"stop": err, "continue": s.Continue(ctx, "w9"), "kill": s.Kill(ctx, "w9"),
		"arm": s.Arm("w9", "P3", nil), "disarm": s.Disarm("w9"), "go": s.Go("w9", nil),
	} {
		if err == nil || !strings.Contains(err.Error(), `"w9"`) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func noServers(t *testing.T, s *scene) {
	s.setup.Places.Postgres = "postgres://nobody@127.0.0.1:1/nowhere?sslmode=disable"
	if err := s.Start(soon(t), 1); err == nil || !strings.Contains(err.Error(), "worker w1") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("without servers: %v", err)
	}
}

func noStrategy(t *testing.T, s *scene) {
	s.setup.Strategy = "hope"
	if err := s.Start(soon(t), 1); err == nil || !strings.Contains(err.Error(), `unknown strategy "hope"`) {
		t.Errorf("with an unknown strategy: %v", err)
	}
}

func noTime(t *testing.T, s *scene) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // which takes connections and says nothing
	must(t, err)
	defer silent.Close()
	s.setup.Places.Postgres = fmt.Sprintf("postgres://nobody@%s/nowhere?sslmode=disable", silent.Addr())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Start(ctx, 1); err == nil || !strings.Contains(err.Error(), "did not get ready") || !strings.Contains(err.Error(), "w1.log") {
		t.Errorf("without time: %v", err)
	}
}

// notTold: a worker that cannot be written down must not live.
func notTold(t *testing.T, s *scene) {
	var pid int
	s.Fleet.told = func(p int, _ uint64) error { pid = p; return fmt.Errorf("the ledger is full") }
	if err := s.Start(soon(t), 1); err == nil || !strings.Contains(err.Error(), "the ledger is full") {
		t.Errorf("it may not be told: %v", err)
	}
	if pid == 0 || !gone(pid) {
		t.Errorf("process %d is there, and nobody knows of it", pid)
	}
}

func TestMainWithoutSupervisor(t *testing.T) {
	for input, want := range map[string]string{
		"":          "no setup on standard input",
		"hello\n":   "line 1 of standard input is no setup",
		"{\"ttl\":": "line 1 of standard input is no setup",
	} {
		err := Main(strings.NewReader(input), new(bytes.Buffer))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "started by torture itself") {
			t.Errorf("%q: %v, want %q", input, err, want)
		}
	}
}

// A history that cannot be written must not be judged: the worker says so and
// fails, also when it could go on.
func TestMainWithoutHistory(t *testing.T) {
	var out bytes.Buffer
	err := Main(strings.NewReader(`{"worker":"w1","strategy":"setnx","history":"/nowhere/w1.jsonl"}`+"\n"), &out)
	if err == nil || !strings.Contains(err.Error(), "/nowhere/w1.jsonl") || !strings.Contains(out.String(), `"say":"error"`) {
		t.Errorf("%v; it says %s", err, out.String())
	}
}
