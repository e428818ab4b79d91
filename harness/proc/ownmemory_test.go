package proc

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestOwnMemory(t *testing.T) {
	if _, err := spawn(unshareMemory); err != nil {
		t.Skipf("no /dev/shm of one's own: %v", err)
	}
	name := filepath.Join(sharedMemory, fmt.Sprintf("torture-test-%d", os.Getpid()))
	t.Cleanup(func() { _ = os.Remove(name) })
	dir := t.TempDir()
	cmd := exec.Command("sh", "-c", "echo x > "+name+" && cat "+name+" > here && exec sleep 1000")
	cmd.Dir = dir
	p, err := StartOwnMemory(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill(context.Background()) })
	err = poll(deadline(t), func() (bool, error) {
		b, err := os.ReadFile(filepath.Join(dir, "here"))
		return err == nil && string(b) == "x\n", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(name); !os.IsNotExist(err) {
		t.Errorf("%s is ours too: %v", name, err)
	}
	// By this the guardian recognizes it.
	if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.Pid())); err != nil || cwd != dir {
		t.Errorf("it works in %q, not %q: %v", cwd, dir, err)
	}
	// Others are as before.
	other, err := Start(exec.Command("sh", "-c", "test ! -e "+name))
	if err != nil {
		t.Fatal(err)
	}
	<-other.Done()
	if err := other.Err(); err != nil {
		t.Errorf("another child sees it: %v", err)
	}
}
