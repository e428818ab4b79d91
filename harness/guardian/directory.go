package guardian

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/torture-harness/torture/harness/guardian/pidfd"
)

// Prefix is what the name of every temporary directory of a run begins with.
func Prefix(runID string) string { return "torture-" + runID + "-" }

// TempDir makes a new directory in parent, which only this run uses, after
// having told the guardian of it. Others may pass through it but not list it,
// for servers run as another user.
func (g *Guardian) TempDir(parent string) (string, error) {
	parent, err := filepath.EvalSymlinks(parent)
	if err != nil {
		return "", fmt.Errorf("make a temporary folder: %w", err)
	}
	if parent, err = filepath.Abs(parent); err != nil {
		return "", fmt.Errorf("make a temporary folder: %w", err)
	}
	path := filepath.Join(parent, Prefix(g.runID)+strings.ToLower(rand.Text()[:8]))
	if err := g.Directory(path); err != nil {
		return "", err
	}
	if err := os.Mkdir(path, 0o711); err != nil {
		return "", fmt.Errorf("make a temporary folder: %w", err)
	}
	return path, os.Chmod(path, 0o711) // whatever the umask
}

// RemoveDirectory kills what still works in a directory of the run, removes it,
// and takes it out of the ledger.
func (g *Guardian) RemoveDirectory(ctx context.Context, path string) error {
	if _, err := removeDirectory(ctx, g.runID, path, g.programs()); err != nil {
		return err
	}
	return g.write(entry{Kind: kindRemoved, Path: path})
}

func checkDirectoryName(runID, path string) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || !strings.HasPrefix(filepath.Base(path), Prefix(runID)) {
		return fmt.Errorf("folder %s: not an absolute path whose name begins with %s", path, Prefix(runID))
	}
	return nil
}

// removeDirectory removes path if it is a directory that the run may have made:
// one with the run's name and no symbolic link on the way to it.
func removeDirectory(ctx context.Context, runID, path string, programs []string) (existed bool, err error) {
	if err := checkDirectoryName(runID, path); err != nil {
		return false, err
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return true, fmt.Errorf("remove a folder of run %s: %w", runID, err)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || real != path || !info.IsDir() {
		return true, fmt.Errorf("%s is not removed: it is not the folder that run %s made", path, runID)
	}
	if err := killAll(ctx, pidfd.WorkingIn(path, programs), io.Discard); err != nil {
		return true, err
	}
	releaseSharedMemory(path)
	if err := os.RemoveAll(path); err != nil { // does not follow symbolic links
		return true, fmt.Errorf("remove a folder of run %s: %w", runID, err)
	}
	return true, nil
}

// releaseSharedMemory removes the System V segments of PostgreSQL servers whose
// data is below dir: one that was killed leaves its (tiny) segment to the next
// start, which will not come. Line 7 of postmaster.pid holds its key and id.
func releaseSharedMemory(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*", "postmaster.pid"))
	for _, file := range files {
		if key, id, err := segmentOf(file); err == nil {
			removeSegment(key, id)
		}
	}
}

func segmentOf(postmasterPid string) (key, id int, err error) {
	f, err := os.Open(postmasterPid)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if n == 7 {
			_, err = fmt.Sscan(lines.Text(), &key, &id)
			return key, id, err
		}
	}
	return 0, 0, errors.New("no line 7")
}

// removeSegment removes the segment if it is the one meant and nobody uses it.
func removeSegment(key, id int) {
	var d unix.SysvShmDesc
	if _, err := unix.SysvShmCtl(id, unix.IPC_STAT, &d); err != nil || int(d.Perm.Key) != key || d.Nattch != 0 {
		return
	}
	_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
}
