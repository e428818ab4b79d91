package guardian

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dismissal in the pipe says that the run has ended in order.
const dismissal = "bye"

// Main is the guardian process. args is the state folder of its run; file
// descriptor 3 is the pipe to watch and 4 the one on which to say that the
// watch has begun (see spawn). It returns the exit code.
func Main(args []string) int {
	// The terminal's signals are for the run; the guardian ends when the run
	// does. Nothing but SIGKILL makes it leave.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGPIPE)
	watched, onWatch := inheritedPipe(3), inheritedPipe(4)
	if len(args) != 1 || watched == nil || onWatch == nil {
		fmt.Fprintln(os.Stderr, "the guardian is started by torture itself")
		return 2
	}
	dir := args[0]
	// A broken pipe: the run has died already, and there is work to do.
	if _, err := onWatch.Write([]byte{1}); err != nil && !errors.Is(err, syscall.EPIPE) {
		say(os.Stderr, "cannot say that the watch has begun: %v", err)
		return 1
	}
	_ = onWatch.Close()

	last, _ := io.ReadAll(watched)
	if string(last) == dismissal {
		return 0
	}
	say(os.Stderr, "the run has died")
	lock, err := lockRun(dir, true)
	if errors.Is(err, fs.ErrNotExist) {
		return 0 // Clean was faster
	}
	if err != nil {
		say(os.Stderr, "%v", err)
		return 1
	}
	defer lock.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if _, err := finish(ctx, dir, os.Stderr); err != nil {
		say(os.Stderr, "%v", err)
		return 1
	}
	return 0
}

// inheritedPipe is a file descriptor that is a pipe, nil if it is none.
func inheritedPipe(fd int) *os.File {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFIFO {
		return nil
	}
	return os.NewFile(uintptr(fd), "pipe")
}

// finish cleans up after a dead run, whose lock the caller holds, and removes
// its ledger. If something cannot be removed the ledger stays. It returns what
// there was to remove.
func finish(ctx context.Context, dir string, log io.Writer) ([]string, error) {
	path := filepath.Join(dir, ledgerName)
	held, err := readLedger(path)
	if errors.Is(err, fs.ErrNotExist) {
		// Killed between making the folder and the ledger: nothing was started.
		return nil, os.RemoveAll(dir)
	}
	if err != nil {
		return nil, err
	}
	left, err := cleanUp(ctx, filepath.Base(dir), held, log)
	if err != nil {
		return left, err
	}
	if err := markDone(path); err != nil {
		return left, err
	}
	return left, os.RemoveAll(dir)
}

func markDone(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "{\"kind\":%q}\n", kindDone)
	return err
}

func say(log io.Writer, format string, args ...any) {
	fmt.Fprintf(log, "%s %s\n", time.Now().UTC().Format(time.RFC3339Nano), fmt.Sprintf(format, args...))
}
