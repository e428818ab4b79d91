// Package guardian removes what a run has started, however the run ends.
//
// A guardian is a process of its own session, started before anything else. It
// holds the reading end of a pipe whose writing end only the run has, and knows
// the run's ledger. When the run dies, by kill -9 or otherwise, the kernel
// closes the pipe; the guardian then continues what is stopped, kills what is
// alive, and removes containers and folders, as the ledger says. If the
// guardian was killed as well, Clean does the same later.
package guardian

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/torture-harness/torture/harness/guardian/pidfd"
	"github.com/torture-harness/torture/harness/proc"
)

// Command is the argument with which the program must call Main.
const Command = "guardian"

// Guardian is the run's side: it writes the ledger.
type Guardian struct {
	runID string
	dir   string
	lock  *os.File
	pipe  *os.File // closing it, or dying, calls the guardian to work
	cmd   *exec.Cmd
	died  chan struct{}

	mu     sync.Mutex
	ledger *os.File
	held   *holdings
	makers int // calls of Containers without their RemoveContainers
}

// Open takes the lock of a new run, creates its ledger and starts its guardian,
// which is this very program called with Command. It returns once the guardian
// is on watch. runID must not have been used before.
func Open(runID string) (*Guardian, error) {
	dir, err := runFolder(runID)
	if err != nil {
		return nil, err
	}
	g := &Guardian{runID: runID, dir: dir, died: make(chan struct{}), held: newHoldings()}
	if err := g.makeFolder(); err != nil {
		return nil, fmt.Errorf("create the state folder of run %s: %w", runID, err)
	}
	if err := g.open(); err != nil {
		g.abandon()
		return nil, fmt.Errorf("start the guardian of run %s: %w", runID, err)
	}
	return g, nil
}

func (g *Guardian) makeFolder() error {
	all, err := lockRuns()
	if err != nil {
		return err
	}
	defer all.Close()
	if err := os.Mkdir(g.dir, 0o700); err != nil {
		return err
	}
	g.lock, err = lockRun(g.dir, false)
	return err
}

func (g *Guardian) open() (err error) {
	g.ledger, err = os.OpenFile(filepath.Join(g.dir, ledgerName), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	start, err := proc.StartTimeOf(os.Getpid())
	if err != nil {
		return err
	}
	if err := g.write(entry{Kind: kindRun, Boot: proc.BootID(), Pid: os.Getpid(), Start: start}); err != nil {
		return err
	}
	return g.spawn()
}

// spawn starts the guardian process and waits for it to be on watch.
func (g *Guardian) spawn() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	watched, pipe, err := os.Pipe()
	if err != nil {
		return err
	}
	defer watched.Close()
	g.pipe = pipe
	ready, onWatch, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	log, err := os.Create(filepath.Join(g.dir, logName))
	if err != nil {
		return err
	}
	defer log.Close()

	g.cmd = exec.Command(self, Command, g.dir)
	g.cmd.ExtraFiles = []*os.File{watched, onWatch} // 3 and 4, see Main
	g.cmd.Stderr = log
	// A session of its own: the terminal's Ctrl-C is not for it. No
	// Pdeathsig: it is there to outlive us.
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = g.cmd.Start()
	_ = onWatch.Close() // now only the guardian has it
	if err != nil {
		g.cmd = nil
		return err
	}
	go func() {
		_ = g.cmd.Wait()
		close(g.died)
	}()
	_ = ready.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.ReadFull(ready, make([]byte, 1)); err != nil {
		return fmt.Errorf("it did not come up: %w", err)
	}
	return nil
}

// abandon undoes a failed Open.
func (g *Guardian) abandon() {
	if g.cmd != nil {
		_ = g.cmd.Process.Kill()
		<-g.died
	}
	for _, f := range []*os.File{g.pipe, g.ledger, g.lock} {
		if f != nil {
			_ = f.Close()
		}
	}
	_ = os.RemoveAll(g.dir)
}

// RunID is the run's id.
func (g *Guardian) RunID() string { return g.runID }

// Pid is the guardian's process number.
func (g *Guardian) Pid() int { return g.cmd.Process.Pid }

// Died is closed when the guardian has ended. Before Close that means that
// nobody watches any more: the run should end at once.
func (g *Guardian) Died() <-chan struct{} { return g.died }

// While returns a context that ends with ctx, and, with that for its cause, when
// the guardian has gone.
func (g *Guardian) While(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, abort := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-g.Died():
			abort(errors.New("the guardian process is gone, so nobody would clean up after a crash"))
		case <-ctx.Done():
		}
	}()
	return ctx, abort
}

// Process tells the guardian of a process, given by its pid and start time
// (clock ticks since boot). Call it right after the fork, and for a process
// that is not our child before it is stopped.
func (g *Guardian) Process(pid int, start uint64, what string) error {
	return g.write(entry{Kind: kindProcess, Boot: proc.BootID(), Pid: pid, Start: start, What: what})
}

// Gone tells the guardian that process pid has ended and was reaped, or, if it
// is not our child, that it runs again and its parent will look after it.
func (g *Guardian) Gone(pid int) error {
	g.mu.Lock()
	var known []pidfd.Target
	for t := range g.held.Processes {
		if t.Pid == pid {
			known = append(known, t)
		}
	}
	g.mu.Unlock()
	for _, t := range known {
		if err := g.write(entry{Kind: kindGone, Pid: t.Pid, Start: t.Start}); err != nil {
			return err
		}
	}
	return nil
}

// Program tells the guardian that processes running the program at path (no
// symbolic links) with their working directory below one of the run's
// directories belong to the run. It covers the moment between a fork and
// Process, and orphans of our children.
func (g *Guardian) Program(path string) error {
	if real, err := filepath.EvalSymlinks(path); err != nil || !filepath.IsAbs(real) {
		return fmt.Errorf("program %s: not an absolute path of a file", path)
	} else {
		path = real
	}
	return g.write(entry{Kind: kindProgram, Path: path})
}

// Label is what containers of this run must carry, as key=value.
func (g *Guardian) Label() string { return LabelKey + "=" + g.runID }

// LabelKey is the key of the label of every container of a run.
const LabelKey = "torture.run"

// Containers tells the guardian that from now on containers with the given
// label may exist. Only Label is accepted. Every call wants one of
// RemoveContainers.
func (g *Guardian) Containers(label string) error {
	if label != g.Label() {
		return fmt.Errorf("label %q is not this run's (%s)", label, g.Label())
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.makers++
	return g.writeLocked(entry{Kind: kindContainers, Label: label, Host: os.Getenv("DOCKER_HOST")})
}

// Directory tells the guardian that the directory at path is about to be made
// by the run. Its name must begin with Prefix, so that nothing else can ever be
// removed.
func (g *Guardian) Directory(path string) error {
	if err := checkDirectoryName(g.runID, path); err != nil {
		return err
	}
	return g.write(entry{Kind: kindDirectory, Path: path})
}

// Close ends the guard in order: it verifies that nothing of the run is left,
// dismisses the guardian and removes the ledger. What is left is removed, and
// is an error all the same, which names it. If something cannot be removed the
// ledger stays, for Clean.
func (g *Guardian) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	g.mu.Lock()
	defer g.mu.Unlock()
	left, cleanErr := cleanUp(ctx, g.runID, g.held, io.Discard)
	dismissErr := g.dismiss()
	var err error
	if len(left) > 0 {
		err = fmt.Errorf("run %s had left behind: %s", g.runID, strings.Join(left, ", "))
	}
	if cleanErr == nil {
		cleanErr = os.RemoveAll(g.dir)
	}
	_ = g.ledger.Close()
	_ = g.lock.Close()
	return errors.Join(err, cleanErr, dismissErr)
}

// dismiss tells the guardian to end without doing anything.
func (g *Guardian) dismiss() error {
	_, err := g.pipe.WriteString(dismissal)
	_ = g.pipe.Close()
	if err != nil {
		return fmt.Errorf("the guardian of run %s had died", g.runID)
	}
	select {
	case <-g.died:
		return nil
	case <-time.After(10 * time.Second):
		_ = g.cmd.Process.Kill()
		<-g.died
		return fmt.Errorf("the guardian of run %s did not end and was killed", g.runID)
	}
}

// write appends one line with one write(2), after which the entry survives the
// death of this process.
func (g *Guardian) write(e entry) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.writeLocked(e)
}

func (g *Guardian) writeLocked(e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := g.ledger.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("tell the guardian of run %s: %w", g.runID, err)
	}
	g.held.apply(e)
	return nil
}

// programs is a copy of the list of programs.
func (g *Guardian) programs() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.held.Programs)
}
