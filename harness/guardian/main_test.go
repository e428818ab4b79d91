package guardian

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/guardian/pidfd"
	"github.com/torture-harness/torture/harness/proc"
)

const victimCommand = "victim"

// TestMain also plays the two processes that this very program is when it is
// called with another argument: the guardian, and a run to be killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case Command:
			os.Exit(Main(os.Args[2:]))
		case victimCommand:
			victim(os.Args[2])
			os.Exit(1)
		}
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	state, err := os.MkdirTemp("", "torture-test-state-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(state)
	if err := os.Setenv("XDG_STATE_HOME", state); err != nil {
		panic(err)
	}
	return m.Run()
}

// says is what a victim prints when it is ready to be killed.
type says struct {
	Guardian int
	Dir      string
	Pids     []int // one running, one stopped, one that the ledger does not name
}

// victim is a run that has started three processes, none of which dies with it,
// and a folder.
func victim(id string) {
	s, err := startVictim(id)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = json.NewEncoder(os.Stdout).Encode(s)
	select {}
}

func startVictim(id string) (says, error) {
	g, err := Open(id)
	if err != nil {
		return says{}, err
	}
	dir, err := g.TempDir(os.TempDir())
	if err != nil {
		return says{}, err
	}
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		return says{}, err
	}
	if err := g.Program(sleep); err != nil {
		return says{}, err
	}
	s := says{Guardian: g.Pid(), Dir: dir}
	for i := range 3 {
		cmd := exec.Command(sleep, "1000")
		if i == 2 {
			cmd.Dir = dir // by which it is recognized
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return says{}, err
		}
		s.Pids = append(s.Pids, cmd.Process.Pid)
		start, err := proc.StartTimeOf(cmd.Process.Pid)
		if err != nil {
			return says{}, err
		}
		if i < 2 {
			if err := g.Process(cmd.Process.Pid, start, "sleep"); err != nil {
				return says{}, err
			}
		}
	}
	return s, syscall.Kill(s.Pids[1], syscall.SIGSTOP)
}

// startVictimProcess starts a victim as a child of ours and waits for its word.
func startVictimProcess(t *testing.T, id string) (*exec.Cmd, says) {
	t.Helper()
	cmd := exec.Command(os.Args[0], victimCommand, id)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		waitUntil(t, "the victim's ledger is gone", func() bool { return !hasLedger(t, id) })
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var s says
	if err != nil || json.Unmarshal(line, &s) != nil {
		t.Fatalf("the victim says %q: %v", line, err)
	}
	return cmd, s
}

func newID() string { return "test-" + strings.ToLower(rand.Text()[:10]) }

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func mustOpen(t *testing.T) *Guardian {
	t.Helper()
	g, err := Open(newID())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// sleeper is a child of ours that sleeps until it is killed.
func sleeper(t *testing.T) (*exec.Cmd, pidfd.Target) {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	start, err := proc.StartTimeOf(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, pidfd.Target{Pid: cmd.Process.Pid, Start: start}
}

// alive says whether a process exists and is no zombie.
func alive(pid int) bool {
	state, err := proc.StateOf(pid)
	return err == nil && state != 'Z'
}

func hasLedger(t *testing.T, id string) bool {
	t.Helper()
	dir, err := runFolder(id)
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(dir)
	return err == nil
}

func waitUntil(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Errorf("it is not so that %s", what)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// deadRun writes the ledger of a run that has died without its guardian.
func deadRun(t *testing.T, id string, lines ...entry) string {
	t.Helper()
	dir, err := runFolder(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	f, err := os.Create(filepath.Join(dir, ledgerName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, e := range lines {
		if err := json.NewEncoder(f).Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
