package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
)

// measureHere judges a case in this process and tells what it took.
func measureHere(name string, plain bool) error {
	c, err := find(name)
	if err != nil {
		return err
	}
	h := c.make()
	runtime.GC() // what making it has left is not judging
	wall, cpu := time.Now(), processors()
	var m measured
	if plain {
		m.Verdict = plainly(h, c.property)
	} else if m.Verdict, err = judge(h, c.property); err != nil {
		return err
	}
	m.Wall, m.CPU = time.Since(wall).Seconds(), (processors() - cpu).Seconds()
	runtime.KeepAlive(h)
	if m.Peak, err = peak(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(m)
}

// judge is everything that is done with a recorded history, all properties of
// it, from what clients recorded alone.
func judge(h *history.History, p checkers.Property) (string, error) {
	j, err := checkers.Judge(context.Background(), h, nil, checkers.Config{MinExposures: 1, Budget: searchFor})
	if err != nil {
		return "", err
	}
	if j.Status == checkers.Errored && p != checkers.Register {
		return "", fmt.Errorf("%s: %q", h.File, j.Reasons)
	}
	f := j.Findings[p]
	if f.Verdict == checkers.Violated {
		return fmt.Sprintf("violated, %d named", f.Count), nil
	}
	if f.Verdict == checkers.Vacuous { // without faults nothing was at risk
		return string(checkers.Holds), nil
	}
	return string(f.Verdict), nil
}

// processors is the time that all cores have spent on this process.
func processors() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peak is the most memory that this process has had resident, in bytes.
func peak() (int64, error) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/self/status has no VmHWM")
}
