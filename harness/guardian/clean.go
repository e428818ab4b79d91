package guardian

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// Run is a run that has a ledger.
type Run struct {
	ID    string
	Alive bool // its lock is held
	Pid   int  // of the process that started it
	Dirs  []string
}

// Report says what Clean did.
type Report struct {
	Cleaned []string // run ids
	Removed []string // what there was to remove
	Alive   []string // run ids that were left alone
}

// Runs lists the runs of this account that are alive or have left something.
func Runs() ([]Run, error) {
	dead, alive, err := lockDead()
	if err != nil {
		return nil, err
	}
	for _, lock := range dead {
		_ = lock.Close()
	}
	var runs []Run
	for _, id := range append(alive, slices.Collect(maps.Keys(dead))...) {
		dir, err := runFolder(id)
		if err != nil {
			return nil, err
		}
		held, err := readLedger(filepath.Join(dir, ledgerName))
		if err != nil {
			held = newHoldings()
		}
		runs = append(runs, Run{ID: id, Alive: dead[id] == nil, Pid: held.Owner.Pid, Dirs: held.Dirs})
	}
	sort.Slice(runs, func(i, j int) bool { return runs[i].ID < runs[j].ID })
	return runs, nil
}

// Clean does for every dead run what its guardian would have done, and leaves
// the living ones alone. Doing it again changes nothing. log gets one line per
// thing removed.
func Clean(ctx context.Context, log io.Writer) (Report, error) {
	dead, alive, err := lockDead()
	if err != nil {
		return Report{}, err
	}
	report := Report{Alive: alive}
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(dead)) {
		removed, err := cleanRun(ctx, id)
		_ = dead[id].Close()
		report.Removed = append(report.Removed, removed...)
		for _, one := range removed {
			fmt.Fprintf(log, "run %s: removed %s\n", id, one)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("run %s: %w", id, err))
			continue
		}
		report.Cleaned = append(report.Cleaned, id)
	}
	return report, errors.Join(errs...)
}

func cleanRun(ctx context.Context, id string) ([]string, error) {
	dir, err := runFolder(id)
	if err != nil {
		return nil, err
	}
	return finish(ctx, dir, io.Discard)
}

// lockDead takes the locks of all runs whose lock is free, and names the others.
func lockDead() (dead map[string]*os.File, alive []string, err error) {
	all, err := lockRuns()
	if err != nil {
		return nil, nil, err
	}
	defer all.Close()
	ids, err := runIDs()
	if err != nil {
		return nil, nil, err
	}
	dead = map[string]*os.File{}
	for _, id := range ids {
		dir, err := runFolder(id)
		if err != nil {
			continue // not a folder of ours
		}
		lock, err := lockRun(dir, false)
		switch {
		case err == nil:
			dead[id] = lock
		case errors.Is(err, errBusy):
			alive = append(alive, id)
		case errors.Is(err, fs.ErrNotExist): // its guardian was faster
		default:
			return dead, alive, err
		}
	}
	return dead, alive, nil
}

func runIDs() ([]string, error) {
	folder, err := stateFolder()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("list the runs: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			ids = append(ids, e.Name())
		}
	}
	sort.Strings(ids)
	return ids, nil
}
