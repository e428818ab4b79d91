package guardian

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/torture-harness/torture/harness/guardian/pidfd"
	"github.com/torture-harness/torture/harness/proc"
)

// cleanUp removes what held names, in this order: continue everything that is
// stopped, kill what is alive, remove containers, remove directories. It goes
// on after an error. It returns what there was to remove.
func cleanUp(ctx context.Context, runID string, held *holdings, log io.Writer) (left []string, err error) {
	if held.Done {
		return nil, nil
	}
	var alive []pidfd.Target
	if held.Boot == proc.BootID() { // else the machine was booted since: no process can be ours
		alive = living(held)
	}
	continueAll(alive)
	containersErr := continueContainers(ctx, held.Containers)

	for _, t := range alive {
		left = append(left, fmt.Sprintf("process %d (%s)", t.Pid, whatOf(held, t)))
	}
	errs := []error{killAll(ctx, alive, log)}
	removed, err := removeContainers(ctx, held.Containers, containersErr, log)
	left = append(left, removed...)
	errs = append(errs, err)
	for _, dir := range held.Dirs {
		existed, err := removeDirectory(ctx, runID, dir, held.Programs)
		if existed {
			left = append(left, "folder "+dir)
			say(log, "removed %s: %v", dir, err)
		}
		errs = append(errs, err)
	}
	return left, errors.Join(errs...)
}

// living lists the processes of held that are alive, with their descendants and
// with whoever works in the run's directories.
func living(held *holdings) []pidfd.Target {
	seen := map[pidfd.Target]bool{}
	var found []pidfd.Target
	add := func(ts ...pidfd.Target) {
		for _, t := range ts {
			if !seen[t] && t.Pid != os.Getpid() {
				seen[t] = true
				found = append(found, t)
			}
		}
	}
	for t := range held.Processes {
		h, err := pidfd.Open(t)
		if err != nil {
			continue
		}
		if state, err := proc.StateOf(t.Pid); err == nil && state != 'Z' {
			add(t)
			add(pidfd.Descendants(t.Pid)...)
		}
		h.Close()
	}
	for _, dir := range held.Dirs {
		add(pidfd.WorkingIn(dir, held.Programs)...)
	}
	return found
}

func whatOf(held *holdings, t pidfd.Target) string {
	if what := held.Processes[t]; what != "" {
		return what
	}
	return "descendant"
}

// continueAll sends SIGCONT to all, before anything is killed: a stopped
// process that is killed has lost its chance to be waited for in order, and one
// that escapes the killing must not stay stopped for ever.
func continueAll(ts []pidfd.Target) {
	for _, t := range ts {
		if h, err := pidfd.Open(t); err == nil {
			_ = h.Signal(unix.SIGCONT)
			h.Close()
		}
	}
}

func killAll(ctx context.Context, ts []pidfd.Target, log io.Writer) error {
	var errs []error
	for _, t := range ts {
		h, err := pidfd.Open(t)
		if errors.Is(err, pidfd.ErrGone) {
			continue
		}
		if err == nil {
			err = h.Kill(ctx)
			h.Close()
		}
		say(log, "killed process %d: %v", t.Pid, err)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
