package pidfd

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/torture-harness/torture/harness/proc"
)

// Descendants lists the living children of pid, their children, and so on. A
// process whose parent has died is nobody's descendant any more: see WorkingIn.
func Descendants(pid int) []Target {
	children := map[int][]int{}
	for _, p := range pids() {
		if parent, err := proc.ParentOf(p); err == nil {
			children[parent] = append(children[parent], p)
		}
	}
	var found []Target
	next := children[pid]
	for len(next) > 0 {
		p := next[0]
		next = append(next[1:], children[p]...)
		if t, ok := target(p); ok {
			found = append(found, t)
		}
	}
	return found
}

// WorkingIn lists the processes whose working directory is dir or below it and
// which run one of the programs (absolute paths without symbolic links). Both
// are asked for because a shell that someone opened in dir is not ours.
func WorkingIn(dir string, programs []string) []Target {
	var found []Target
	for _, p := range pids() {
		t, ok := target(p)
		if !ok || !isIn(p, dir) || !runs(p, programs) {
			continue
		}
		// Still the same process after the look at its folder and program?
		if again, ok := target(p); ok && again == t {
			found = append(found, t)
		}
	}
	return found
}

func isIn(pid int, dir string) bool {
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	cwd = strings.TrimSuffix(cwd, " (deleted)")
	return err == nil && (cwd == dir || strings.HasPrefix(cwd, dir+"/"))
}

func runs(pid int, programs []string) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil && slices.Contains(programs, strings.TrimSuffix(exe, " (deleted)"))
}

// target names process pid; not ok if it has ended, zombies included.
func target(pid int) (Target, bool) {
	start, err := proc.StartTimeOf(pid)
	if err != nil {
		return Target{}, false
	}
	state, err := proc.StateOf(pid)
	return Target{Pid: pid, Start: start}, err == nil && state != 'Z' && state != 'X'
}

func pids() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var found []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			found = append(found, pid)
		}
	}
	return found
}
