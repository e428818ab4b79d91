package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/moby/moby/client"

	"github.com/torture-harness/torture/harness/guardian"
	"github.com/torture-harness/torture/harness/guardian/pidfd"
)

const victimCommand = "victim"

// victimSays is what a victim prints when it is ready to be killed.
type victimSays struct {
	Guardian int
	Dirs     []string
}

// victim is a run with a PostgreSQL and a Redis, both stopped, one backend of it
// before, that waits to be killed. args are the provider, the run's id and its folder.
func victim(args []string) {
	ctx := context.Background()
	g, err := guardian.Open(args[1])
	if err == nil {
		spec := Spec{Redis: 1, Postgres: true, Dir: args[2], RunID: args[1], Guardian: g}
		err = startVictim(ctx, args[0], spec)
	}
	if err == nil {
		dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), guardian.Prefix(args[1])+"*"))
		err = json.NewEncoder(os.Stdout).Encode(victimSays{g.Pid(), dirs})
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	select {}
}

// victimSession stays open until the victim is killed: what nobody refers to is
// closed by the garbage collector.
var victimSession *pgx.Conn

func startVictim(ctx context.Context, provider string, spec Spec) error {
	p, _, err := Select(ctx, provider)
	if err != nil {
		return err
	}
	c, err := p.Start(ctx, spec)
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, c.PostgresDSN())
	if err != nil {
		return err
	}
	victimSession = conn
	if _, err := c.Postgres.StopBackend(ctx, int(conn.PgConn().PID())); err != nil && !errors.Is(err, errForbidden) {
		return err
	}
	for _, s := range c.Servers() {
		if err := s.Stop(ctx); err != nil {
			return err
		}
	}
	return nil
}

// startVictimProcess starts one, as a child of ours, and waits for its word.
func startVictimProcess(t *testing.T, provider, id string) (*exec.Cmd, victimSays) {
	t.Helper()
	cmd := exec.Command(os.Args[0], victimCommand, provider, id, t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	endVictim(t, cmd, id)
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var says victimSays
	if err != nil || json.Unmarshal(line, &says) != nil {
		t.Fatalf("the victim says %q: %v", line, err)
	}
	return cmd, says
}

// endVictim has a victim killed at the end of the test, and its guardian awaited.
func endVictim(t *testing.T, cmd *exec.Cmd, id string) {
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		waitUntil(t, "the guardian has finished", func() bool { return !hasLedger(t, id) })
	})
}

func TestKilled(t *testing.T) {
	t.Run("process", func(t *testing.T) { killed(t, NewProcesses()) })
	t.Run("container", func(t *testing.T) {
		needEngine(t)
		killed(t, NewContainers())
	})
}

func killed(t *testing.T, p Provider) {
	t.Run("the guardian cleans up", func(t *testing.T) {
		id := newID()
		cmd, says := startVictimProcess(t, p.Name(), id)
		assertThere(t, p, id, says)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		waitUntil(t, "the guardian has finished", func() bool { return !hasLedger(t, id) })
		assertNothingLeft(t, p, id, says)
	})
	t.Run("clean does when the guardian was killed", func(t *testing.T) {
		id, other := newID(), newID()
		cmd, says := startVictimProcess(t, p.Name(), id)
		_, otherSays := startVictimProcess(t, p.Name(), other)
		if err := syscall.Kill(says.Guardian, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		report, err := guardian.Clean(testContext(t), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(report.Cleaned, id) || !slices.Contains(report.Alive, other) {
			t.Errorf("%+v", report)
		}
		assertNothingLeft(t, p, id, says)
		assertThere(t, p, other, otherSays)
	})
}

// assertThere makes sure that there is something to clean up, and that it is
// stopped.
func assertThere(t *testing.T, p Provider, id string, says victimSays) {
	t.Helper()
	if p.Name() == "container" {
		if n := containersOf(t, id); n != 2 {
			t.Errorf("run %s has %d containers, not 2", id, n)
		}
		return
	}
	found := workers(t, says)
	if len(found) < 4 { // a Redis, a postmaster and its children
		t.Errorf("run %s has only the processes %v", id, found)
	}
	if len(says.Dirs) != 1 {
		t.Errorf("run %s has the folders %v", id, says.Dirs)
	}
}

func assertNothingLeft(t *testing.T, p Provider, id string, says victimSays) {
	t.Helper()
	if hasLedger(t, id) {
		t.Errorf("run %s still has a ledger", id)
	}
	if p.Name() == "container" {
		if n := containersOf(t, id); n != 0 {
			t.Errorf("%d containers of run %s are left", n, id)
		}
		return
	}
	if left := workers(t, says); len(left) > 0 {
		t.Errorf("processes of run %s are left: %v", id, left)
	}
	for _, dir := range says.Dirs {
		if _, err := os.Lstat(dir); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
}

// workers are the servers' processes of a victim.
func workers(t *testing.T, says victimSays) []pidfd.Target {
	t.Helper()
	redis, err := findRedis()
	if err != nil {
		t.Fatal(err)
	}
	postgres, _, err := findPostgres()
	if err != nil {
		t.Fatal(err)
	}
	var programs []string
	for _, path := range []string{redis, postgres} {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, real)
	}
	var found []pidfd.Target
	for _, dir := range says.Dirs {
		found = append(found, pidfd.WorkingIn(dir, programs)...)
	}
	return found
}

func containersOf(t *testing.T, id string) int {
	t.Helper()
	c, err := Engine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	list, err := c.ContainerList(t.Context(), client.ContainerListOptions{
		All: true, Filters: make(client.Filters).Add("label", guardian.LabelKey+"="+id),
	})
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}

func hasLedger(t *testing.T, id string) bool {
	t.Helper()
	runs, err := guardian.Runs()
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		if run.ID == id {
			return true
		}
	}
	return false
}

func waitUntil(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("it is not so that %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// contextUntil is a context that ends when something has happened.
func contextUntil(t *testing.T, happened func() bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(testContext(t))
	go func() {
		for ctx.Err() == nil && !happened() {
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	return ctx, cancel
}
