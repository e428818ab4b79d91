package guardian

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"
)

// Names of the files in the state folder of a run.
const (
	lockName   = "lock"
	ledgerName = "ledger.jsonl"
	logName    = "guardian.log"
)

var validID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// stateFolder is where the runs of this account keep their ledgers
// (XDG base directory specification).
func stateFolder() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "torture", "runs"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the state folder: %w", err)
	}
	return filepath.Join(home, ".local", "state", "torture", "runs"), nil
}

func runFolder(runID string) (string, error) {
	if !validID.MatchString(runID) {
		return "", fmt.Errorf("run id %q: want at most 64 letters, digits, dots, dashes, underscores", runID)
	}
	runs, err := stateFolder()
	return filepath.Join(runs, runID), err
}

// errBusy says that somebody else holds the lock of a run.
var errBusy = errors.New("the run is alive")

// lockRun takes the lock of a run. It is held as long as the file is open, so
// the kernel gives it back however its holder dies. Without wait it returns
// errBusy if it is taken.
func lockRun(dir string, wait bool) (*os.File, error) { return lock(dir, wait) }

// lockRuns takes the lock of the list of runs. Whoever adds a run holds it
// until the run has its own lock; so whoever holds it sees no half-made run.
func lockRuns() (*os.File, error) {
	dir, err := stateFolder()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the state folder: %w", err)
	}
	return lock(dir, true)
}

func lock(dir string, wait bool) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of a run: %w", err)
	}
	how := unix.LOCK_EX
	if !wait {
		how |= unix.LOCK_NB
	}
	for {
		err = unix.Flock(int(f.Fd()), how)
		switch {
		case err == nil:
			return f, nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			err = errBusy
		}
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
}
