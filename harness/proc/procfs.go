package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// BootID is different after every boot of the machine, so that a pid and a
// start time written down before are never mistaken for a process of today.
var BootID = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
})

// StartTimeOf is when process pid started, in clock ticks since boot
// (proc(5), stat, field 22). It fails if there is no such process.
func StartTimeOf(pid int) (uint64, error) {
	fields, err := statFields(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(fields[22-3], 10, 64)
}

// StateOf is the state letter of process pid (proc(5), stat, field 3): R, S,
// D, T for stopped, Z for a zombie.
func StateOf(pid int) (byte, error) {
	fields, err := statFields(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return fields[0][0], nil
}

// ParentOf is the pid of the parent of process pid (proc(5), stat, field 4).
func ParentOf(pid int) (int, error) {
	fields, err := statFields(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(fields[4-3])
}

// InnermostPid is the number of process pid in the innermost process namespace
// it is in, by which it knows itself (proc(5), status, NSpid).
func InnermostPid(pid int) (int, error) {
	path := fmt.Sprintf("/proc/%d/status", pid)
	status, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if numbers, ok := strings.CutPrefix(line, "NSpid:"); ok {
			all := strings.Fields(numbers)
			if len(all) > 0 {
				return strconv.Atoi(all[len(all)-1])
			}
		}
	}
	return 0, fmt.Errorf("%s: no NSpid", path)
}

// ThreadStates reads the state letter of every thread of process pid. The list
// is read afresh each time, because threads come and go. ErrExited if there is
// none.
func ThreadStates(pid int) ([]byte, error) {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return nil, err
	}
	var states []byte
	for _, stat := range stats {
		fields, err := statFields(stat)
		if gone(err) {
			continue // ended since the list was read
		}
		if err != nil {
			return nil, err
		}
		states = append(states, fields[0][0])
	}
	if len(states) == 0 {
		return nil, ErrExited
	}
	return states, nil
}

// statFields returns the fields of a stat file from the third on. The second,
// the name, is skipped from its last parenthesis, for it may hold spaces.
func statFields(path string) ([]string, error) {
	stat, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	end := bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:]))
	if end < 0 || len(fields) < 20 {
		return nil, fmt.Errorf("%s: unexpected content %q", path, stat)
	}
	return fields, nil
}

// All says whether every one of the states is want, and there is one.
func All(states []byte, want byte) bool {
	for _, s := range states {
		if s != want {
			return false
		}
	}
	return len(states) > 0
}

func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

// ignoreGone turns the errors of a process that ended meanwhile into nil.
func ignoreGone(err error) error {
	if gone(err) || errors.Is(err, ErrExited) {
		return nil
	}
	return err
}
