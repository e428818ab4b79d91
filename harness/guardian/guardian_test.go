package guardian

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/torture-harness/torture/harness/proc"
)

func TestGuardianCleansUpAfterKill(t *testing.T) {
	id, other := newID(), newID()
	cmd, s := startVictimProcess(t, id)
	_, o := startVictimProcess(t, other)
	for _, pid := range append(s.Pids, o.Pids...) {
		if !alive(pid) {
			t.Fatalf("process %d was not there in the first place", pid)
		}
	}
	// What a terminal sends to all, and what an impatient user sends, does not
	// stop the guardian from doing its work.
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if err := syscall.Kill(s.Guardian, sig); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the ledger is gone", func() bool { return !hasLedger(t, id) })
	for _, pid := range s.Pids {
		if alive(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
	if _, err := os.Stat(s.Dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", s.Dir, err)
	}
	waitUntil(t, "the guardian has ended", func() bool { return !alive(s.Guardian) })
	for _, pid := range o.Pids {
		if !alive(pid) {
			t.Errorf("process %d of another run is gone", pid)
		}
	}
	if _, err := os.Stat(o.Dir); err != nil {
		t.Errorf("the folder of another run: %v", err)
	}
}

func TestCleanAfterTheGuardianWasKilled(t *testing.T) {
	id, other := newID(), newID()
	cmd, s := startVictimProcess(t, id)
	_, o := startVictimProcess(t, other)
	if report, err := Clean(testContext(t), io.Discard); err != nil || len(report.Cleaned) != 0 || !slices.Contains(report.Alive, id) {
		t.Errorf("clean with all alive: %+v, %v", report, err)
	}
	if !alive(s.Pids[0]) {
		t.Fatal("clean has touched a living run")
	}
	if err := syscall.Kill(s.Guardian, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, pid := range s.Pids {
		if !alive(pid) {
			t.Fatalf("process %d was not left over in the first place", pid)
		}
	}
	var log bytes.Buffer
	report, err := Clean(testContext(t), &log)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(report.Cleaned, id) || !slices.Contains(report.Alive, other) || len(report.Removed) < 4 {
		t.Errorf("report %+v", report)
	}
	if !strings.Contains(log.String(), s.Dir) {
		t.Errorf("the log does not name %s: %q", s.Dir, log.String())
	}
	for _, pid := range s.Pids {
		if alive(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
	if _, err := os.Stat(s.Dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", s.Dir, err)
	}
	for _, pid := range o.Pids {
		if !alive(pid) {
			t.Errorf("process %d of another run is gone", pid)
		}
	}
	if report, err := Clean(testContext(t), io.Discard); err != nil || len(report.Cleaned)+len(report.Removed) != 0 {
		t.Errorf("clean again: %+v, %v", report, err)
	}
}

// A ledger of another time or boot may name numbers that now are somebody else's.
func TestCleanTouchesNoOtherProcess(t *testing.T) {
	cmd, target := sleeper(t)
	_, stopped := sleeper(t)
	if err := syscall.Kill(stopped.Pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "it is stopped", func() bool { s, err := proc.StateOf(stopped.Pid); return err == nil && s == 'T' })
	boot := proc.BootID()
	for name, lines := range map[string][]entry{
		"another start time": {
			{Kind: kindRun, Boot: boot},
			{Kind: kindProcess, Boot: boot, Pid: target.Pid, Start: target.Start + 1},
			{Kind: kindProcess, Boot: boot, Pid: stopped.Pid, Start: stopped.Start - 1},
		},
		"another boot": {
			{Kind: kindRun, Boot: "another"},
			{Kind: kindProcess, Boot: "another", Pid: target.Pid, Start: target.Start},
			{Kind: kindProcess, Boot: "another", Pid: stopped.Pid, Start: stopped.Start},
		},
		"gone": {
			{Kind: kindRun, Boot: boot},
			{Kind: kindProcess, Boot: boot, Pid: target.Pid, Start: target.Start},
			{Kind: kindGone, Pid: target.Pid, Start: target.Start},
		},
		"done": {
			{Kind: kindRun, Boot: boot},
			{Kind: kindProcess, Boot: boot, Pid: target.Pid, Start: target.Start},
			{Kind: kindDone},
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := newID()
			deadRun(t, id, lines...)
			if report, err := Clean(testContext(t), io.Discard); err != nil || len(report.Removed) != 0 {
				t.Errorf("%+v, %v", report, err)
			}
			if hasLedger(t, id) {
				t.Error("the ledger is left")
			}
		})
	}
	if !alive(target.Pid) {
		t.Errorf("%v was killed", cmd.Args)
	}
	if s, _ := proc.StateOf(stopped.Pid); s != 'T' {
		t.Errorf("a process of somebody else was continued: it is in state %c", s)
	}
	// The very same lines with the right time do kill it.
	deadRun(t, newID(), entry{Kind: kindRun, Boot: boot}, entry{Kind: kindProcess, Boot: boot, Pid: target.Pid, Start: target.Start})
	if _, err := Clean(testContext(t), io.Discard); err != nil {
		t.Fatal(err)
	}
	if alive(target.Pid) {
		t.Error("it is alive")
	}
}

func TestFoldersThatAreNotOurs(t *testing.T) {
	id := newID()
	precious := filepath.Join(t.TempDir(), "precious")
	if err := os.MkdirAll(filepath.Join(precious, "inside"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), Prefix(id)+"link")
	if err := os.Symlink(precious, link); err != nil {
		t.Fatal(err)
	}
	through := filepath.Join(t.TempDir(), "way")
	if err := os.Symlink(filepath.Dir(precious), through); err != nil {
		t.Fatal(err)
	}
	beyond := filepath.Join(filepath.Dir(precious), Prefix(id)+"beyond")
	if err := os.Mkdir(beyond, 0o755); err != nil {
		t.Fatal(err)
	}
	ours := filepath.Join(t.TempDir(), Prefix(id)+"ours")
	if err := os.Mkdir(ours, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(precious, filepath.Join(ours, "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{precious, link, filepath.Join(through, filepath.Base(beyond)), "/", ours + "/../../precious"} {
		t.Run(path, func(t *testing.T) {
			deadRun(t, id, entry{Kind: kindRun}, entry{Kind: kindDirectory, Path: path})
			if _, err := Clean(testContext(t), io.Discard); err == nil {
				t.Error("no error")
			}
			if !hasLedger(t, id) {
				t.Error("the ledger, which says what is wrong, is gone")
			}
			for _, dir := range []string{filepath.Join(precious, "inside"), beyond} {
				if _, err := os.Stat(dir); err != nil {
					t.Error(err)
				}
			}
		})
	}
	deadRun(t, id, entry{Kind: kindRun}, entry{Kind: kindDirectory, Path: ours})
	if _, err := Clean(testContext(t), io.Discard); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ours); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", ours, err)
	}
	if _, err := os.Stat(filepath.Join(precious, "inside")); err != nil {
		t.Errorf("a symbolic link was followed: %v", err)
	}
}

func TestOnlyOwnNames(t *testing.T) {
	g := mustOpen(t)
	defer func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, path := range []string{"/tmp", "/tmp/torture-x", "relative/" + Prefix(g.RunID()) + "x", "/tmp/" + Prefix(g.RunID()) + "x/..", "/tmp/" + Prefix(newID()) + "x"} {
		if err := g.Directory(path); err == nil {
			t.Errorf("the guardian takes %s", path)
		}
	}
	if err := g.Containers(LabelKey + "=another"); err == nil {
		t.Error("the guardian takes another run's label")
	}
	if err := g.Program("sleep"); err == nil {
		t.Error("the guardian takes a program without its path")
	}
	for _, id := range []string{"", "a/b", "..", ".hidden", strings.Repeat("x", 65)} {
		if g, err := Open(id); err == nil {
			t.Errorf("run id %q is taken", id)
			_ = g.Close()
		}
	}
	if second, err := Open(g.RunID()); err == nil {
		t.Error("one run id for two runs")
		_ = second.Close()
	}
}

func TestDied(t *testing.T) {
	g := mustOpen(t)
	select {
	case <-g.Died():
		t.Fatal("the guardian is dead")
	default:
	}
	if err := syscall.Kill(g.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-g.Died():
	case <-testContext(t).Done():
		t.Fatal("nobody noticed that the guardian died")
	}
	if err := g.Close(); err == nil || !strings.Contains(err.Error(), "had died") {
		t.Errorf("close: %v", err)
	}
	if hasLedger(t, g.RunID()) {
		t.Error("the ledger is left")
	}
}

func TestCloseInOrder(t *testing.T) {
	g := mustOpen(t)
	dir, err := g.TempDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd, target := sleeper(t)
	if err := g.Process(target.Pid, target.Start, "sleep"); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err := g.Gone(target.Pid); err != nil {
		t.Fatal(err)
	}
	if err := g.RemoveDirectory(testContext(t), dir); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if hasLedger(t, g.RunID()) {
		t.Error("the ledger is left")
	}
	if alive(g.Pid()) {
		t.Error("the guardian is alive")
	}
}

func TestCloseNamesAndRemovesWhatIsLeft(t *testing.T) {
	g := mustOpen(t)
	dir, err := g.TempDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	_, target := sleeper(t)
	if err := g.Process(target.Pid, target.Start, "the forgotten one"); err != nil {
		t.Fatal(err)
	}
	err = g.Close()
	if err == nil || !strings.Contains(err.Error(), "the forgotten one") || !strings.Contains(err.Error(), dir) {
		t.Errorf("close: %v", err)
	}
	if alive(target.Pid) {
		t.Error("it is alive")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left", dir)
	}
}

// A run may die before its guardian is up: then nobody reads of its watch.
func TestRunDiesBeforeTheGuardianIsUp(t *testing.T) {
	id := newID()
	_, target := sleeper(t)
	boot := proc.BootID()
	dir := deadRun(t, id, entry{Kind: kindRun, Boot: boot}, entry{Kind: kindProcess, Boot: boot, Pid: target.Pid, Start: target.Start})
	watched, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ready, onWatch, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = pipe.Close(), ready.Close()
	cmd := exec.Command(os.Args[0], Command, dir)
	cmd.ExtraFiles = []*os.File{watched, onWatch}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if alive(target.Pid) {
		t.Error("it is alive")
	}
	if hasLedger(t, id) {
		t.Error("the ledger is left")
	}
}

func TestStartedByHand(t *testing.T) {
	for _, args := range [][]string{{Command}, {Command, t.TempDir()}} {
		out, err := exec.Command(os.Args[0], args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "started by torture itself") {
			t.Errorf("%v: %v: %s", args, err, out)
		}
	}
}

// A process killed in the middle of its last write leaves half a line.
func TestTornLedger(t *testing.T) {
	id := newID()
	_, target := sleeper(t)
	boot := proc.BootID()
	dir := deadRun(t, id, entry{Kind: kindRun, Boot: boot}, entry{Kind: kindProcess, Boot: boot, Pid: target.Pid, Start: target.Start})
	f, err := os.OpenFile(filepath.Join(dir, ledgerName), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"kind":"directory","path":"/`); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if _, err := Clean(testContext(t), io.Discard); err != nil {
		t.Fatal(err)
	}
	if alive(target.Pid) {
		t.Error("it is alive")
	}
}

func TestDamagedLedgerIsKept(t *testing.T) {
	id := newID()
	dir := deadRun(t, id, entry{Kind: kindRun})
	if err := os.WriteFile(filepath.Join(dir, ledgerName), []byte("{\"kind\":\"run\"}\nnonsense\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Clean(testContext(t), io.Discard); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("clean: %v", err)
	}
	if !hasLedger(t, id) {
		t.Error("the ledger is gone")
	}
}
