package harness

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// ticks is the time all cores have spent, in clock ticks since boot.
type ticks struct{ busy, all uint64 }

// cpuTicks reads the first line of /proc/stat (proc(5)). Time in iowait is not
// busy, and neither is the work of niced processes: it makes way for a run.
func cpuTicks() (ticks, error) {
	f, err := os.Open("/proc/stat")
	if err != nil {
		return ticks{}, err
	}
	defer f.Close()
	line, err := bufio.NewReader(f).ReadString('\n')
	if err != nil {
		return ticks{}, fmt.Errorf("/proc/stat: %w", err)
	}
	var user, nice, system, idle, iowait, irq, softirq, steal uint64
	if _, err := fmt.Sscan(strings.TrimPrefix(line, "cpu"), &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal); err != nil {
		return ticks{}, fmt.Errorf("/proc/stat: %w", err)
	}
	busy := user + system + irq + softirq + steal
	return ticks{busy: busy, all: busy + nice + idle + iowait}, nil
}

// busyPercent is the share of time between a and b in which the cores worked.
func busyPercent(a, b ticks) float64 {
	if b.all <= a.all {
		return 0
	}
	return 100 * float64(b.busy-a.busy) / float64(b.all-a.all)
}
