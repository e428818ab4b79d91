package cluster

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/guardian"
)

// A run that is killed while its initdb works leaves nothing, in shared memory
// neither. The moments are spread over the time that a start takes.
func TestKilledDuringInitdb(t *testing.T) {
	const moments = 20
	began := time.Now()
	first := startKillable(t, newID())
	waitUntil(t, "a run has started", func() bool { return first.started() })
	took := time.Since(began)
	_ = first.cmd.Process.Kill()
	working := 0
	for i := range moments {
		id, before := newID(), sharedMemory(t)
		v := startKillable(t, id)
		time.Sleep(took * time.Duration(i) / moments) // nothing waits for it: it is the moment
		if err := v.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), guardian.Prefix(id)+"*"))
		if len(dirs) > 0 {
			working++
		}
		waitUntil(t, "the guardian has finished", func() bool { return !hasLedger(t, id) })
		assertNothingLeft(t, NewProcesses(), id, victimSays{Dirs: dirs})
		found := slices.DeleteFunc(sharedMemory(t), func(name string) bool { return slices.Contains(before, name) })
		waitUntil(t, "none of these segments is left: "+strings.Join(found, " "), func() bool { // others' come and go
			now := sharedMemory(t)
			return !slices.ContainsFunc(found, func(name string) bool { return slices.Contains(now, name) })
		})
	}
	t.Logf("%d of %d were killed when they had a folder", working, moments)
	if working < moments/4 {
		t.Errorf("only %d of %d were killed at work", working, moments)
	}
}

// killable is a victim that need not be ready to be killed.
type killable struct {
	cmd *exec.Cmd
	out string
}

func (k killable) started() bool {
	info, err := os.Stat(k.out)
	return err == nil && info.Size() > 0
}

func startKillable(t *testing.T, id string) killable {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(os.Args[0], victimCommand, "process", id, t.TempDir())
	cmd.Stdout, cmd.Stderr = out, io.Discard
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	endVictim(t, cmd, id)
	return killable{cmd, out.Name()}
}

// sharedMemory names PostgreSQL's POSIX segments, and the System V segments that
// nobody uses.
func sharedMemory(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(memoryFolder, "PostgreSQL.*"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		fields := strings.Fields(line) // key shmid perms size cpid lpid nattch …
		if len(fields) > 6 && fields[6] == "0" {
			found = append(found, "segment "+fields[1])
		}
	}
	return found
}
