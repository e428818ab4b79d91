package guardian

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torture-harness/torture/harness/guardian/pidfd"
)

// What a killed PostgreSQL leaves in the kernel goes with its folder.
func TestSharedMemory(t *testing.T) {
	id := newID()
	dir := filepath.Join(t.TempDir(), Prefix(id)+"x")
	data := filepath.Join(dir, "postgres", "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	const key = -0x7057 // PostgreSQL writes it as an unsigned long
	shm, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(shm, unix.IPC_RMID, nil) })
	write := func(pid, key int) {
		lines := fmt.Sprintf("%d\n2\n3\n4\n5\n6\n%9d %9d\n", pid, uint64(key), shm)
		if err := os.WriteFile(filepath.Join(data, "postmaster.pid"), []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, others := range map[string]func(){
		"another key":     func() { write(os.Getpid(), key+1) },
		"another creator": func() { write(os.Getpid()+1, key) },
	} {
		others()
		ReleaseSharedMemory(dir)
		if segmentGone(shm) {
			t.Fatalf("a segment with %s was removed", name)
		}
	}
	write(-os.Getpid(), key)
	deadRun(t, id, entry{Kind: kindRun}, entry{Kind: kindDirectory, Path: dir})
	if _, err := Clean(testContext(t), io.Discard); err != nil {
		t.Fatal(err)
	}
	if !segmentGone(shm) {
		t.Error("the segment is left")
	}
}

func segmentGone(id int) bool {
	var d unix.SysvShmDesc
	_, err := unix.SysvShmCtl(id, unix.IPC_STAT, &d)
	return err != nil
}

// A server that was killed before it wrote its segment's id has made one with
// its folder's inode as the key.
func TestSharedMemoryWithoutLine7(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "postgres", "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	var s unix.Stat_t
	if err := unix.Stat(data, &s); err != nil {
		t.Fatal(err)
	}
	shm, err := unix.SysvShmGet(int(int32(s.Ino)), headerSize, unix.IPC_CREAT|unix.IPC_EXCL|0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(shm, unix.IPC_RMID, nil) })
	for _, c := range []struct {
		pid  int
		gone bool
	}{{os.Getppid(), false}, {os.Getpid(), true}} {
		pid := strconv.Itoa(c.pid) + "\n2\n3\n4\n5\n\n"
		if err := os.WriteFile(filepath.Join(data, "postmaster.pid"), []byte(pid), 0o600); err != nil {
			t.Fatal(err)
		}
		ReleaseSharedMemory(dir)
		if segmentGone(shm) != c.gone {
			t.Errorf("pid %d: gone is %v", c.pid, !c.gone)
		}
	}
}

// An initdb that is killed leaves POSIX segments too.
func TestSharedMemoryOfKilledInitdb(t *testing.T) {
	initdb := findInitdb(t)
	before := posixSegments(t)
	began := time.Now()
	whole := startInitdb(t, initdb, privateFolder(t))
	if err := whole.Wait(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	const times = 20
	left := 0
	for i := range times {
		dir := privateFolder(t)
		cmd := startInitdb(t, initdb, dir)
		time.Sleep(took * time.Duration(i) / times) // the moment is what varies, nothing waits for it
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		killWorkers(t, dir, initdb)
		if control := controlOf(dir); control != "" {
			left++
		}
		ReleaseSharedMemory(dir)
		// Others' come and go.
		found := added(t, before)
		waitUntil(t, fmt.Sprintf("an initdb killed after %d/%d of its time has left none of %v", i, times, found), func() bool {
			return !slices.ContainsFunc(found, func(name string) bool { return posixSegments(t)[name] })
		})
		before = posixSegments(t)
	}
	t.Logf("%d of %d had left something to remove", left, times)
	if left == 0 {
		t.Error("no killed initdb left anything: nothing was tested")
	}
}

// A control segment that is not wholly as known is not followed.
func TestOnlyKnownControlSegments(t *testing.T) {
	const control, listed = 0x7fff7056, 0x7fff7058
	content := func(change func([]byte)) []byte {
		b := make([]byte, controlHeader+2*controlItem)
		n := []uint32{controlMagic, 2, 2, 0, listed, 1, 0, 0}
		for i, v := range n {
			*(*[4]byte)(b[4*i:]) = [4]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)}
		}
		change(b)
		return b
	}
	for name, c := range map[string]struct {
		change func([]byte)
		owner  int
		gone   bool
	}{
		"as known":           {func([]byte) {}, os.Getuid(), true},
		"another's":          {func([]byte) {}, os.Getuid() + 1, false},
		"another magic":      {func(b []byte) { b[0]++ }, os.Getuid(), false},
		"another layout":     {func(b []byte) { b[8]++ }, os.Getuid(), false},
		"more than there is": {func(b []byte) { b[4] = 3 }, os.Getuid(), false},
	} {
		for handle, b := range map[uint32][]byte{control: content(c.change), listed: {1}} {
			if err := os.WriteFile(posixSegment(handle), b, 0o600); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Remove(posixSegment(handle)) })
		}
		removePosixSegments(control, uint32(c.owner))
		for _, handle := range []uint32{control, listed} {
			if _, err := os.Lstat(posixSegment(handle)); os.IsNotExist(err) != c.gone {
				t.Errorf("%s: %s: %v", name, posixSegment(handle), err)
			}
		}
	}
}

func findInitdb(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		path, err := exec.LookPath("initdb")
		if err != nil {
			t.Skip("there is no PostgreSQL")
		}
		found = append(found, path)
	}
	path, err := filepath.EvalSymlinks(found[len(found)-1])
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// privateFolder is a folder as a run has it, which another account can reach.
func privateFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "torture-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// startInitdb starts one for dir/postgres/data, as another account under root,
// which PostgreSQL refuses.
func startInitdb(t *testing.T, initdb, dir string) *exec.Cmd {
	t.Helper()
	home := filepath.Join(dir, "postgres")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(initdb, "-D", filepath.Join(home, "data"), "--no-sync", "--locale=C", "--auth=trust", "--username=postgres")
	cmd.Dir = home
	if os.Geteuid() == 0 {
		account, err := user.Lookup("postgres")
		if err != nil {
			t.Skip("there is no account postgres")
		}
		uid, _ := strconv.Atoi(account.Uid)
		gid, _ := strconv.Atoi(account.Gid)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		if err := os.Chown(home, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		killWorkers(t, dir, initdb)
	})
	return cmd
}

// killWorkers ends the backends of an initdb, which outlive it.
func killWorkers(t *testing.T, dir, initdb string) {
	t.Helper()
	programs := []string{initdb, filepath.Join(filepath.Dir(initdb), "postgres")}
	for {
		found := pidfd.WorkingIn(dir, programs)
		if len(found) == 0 {
			return
		}
		if err := killAll(context.Background(), found, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
}

// controlOf is the control segment that a dead server has left; "" for none.
func controlOf(dir string) string {
	s, err := segmentOf(filepath.Join(dir, "postgres", "data", "postmaster.pid"))
	if err != nil {
		return ""
	}
	var d unix.SysvShmDesc
	if _, err := unix.SysvShmCtl(s.id, unix.IPC_STAT, &d); err != nil {
		return ""
	}
	path := posixSegment(s.control(d))
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	return path
}

// posixSegments are the names of those that are there.
func posixSegments(t *testing.T) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir("/dev/shm")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "PostgreSQL.") {
			found[e.Name()] = true
		}
	}
	return found
}

func added(t *testing.T, before map[string]bool) []string {
	t.Helper()
	now := posixSegments(t)
	maps.DeleteFunc(now, func(name string, _ bool) bool { return before[name] })
	return slices.Sorted(maps.Keys(now))
}
