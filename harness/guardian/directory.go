package guardian

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

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
	ReleaseSharedMemory(path)
	if err := os.RemoveAll(path); err != nil { // does not follow symbolic links
		return true, fmt.Errorf("remove a folder of run %s: %w", runID, err)
	}
	return true, nil
}
