package doctor

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/guardian"
	"github.com/torture-harness/torture/harness/guardian/pidfd"
	"github.com/torture-harness/torture/harness/proc"
)

const (
	itemSystem  = "system"
	itemPidfd   = "pidfd"
	itemProc    = "/proc"
	itemAccount = "account"
	itemTemp    = "temporary folder"
)

// system looks at what only the operating system can give.
func system(context.Context) []Item {
	items := []Item{kernel(), signals(), visibility()}
	return append(items, account()...)
}

func kernel() Item {
	if runtime.GOOS != "linux" {
		return Item{itemSystem, Missing, runtime.GOOS, "torture stops processes and proves it, which it can on Linux only"}
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return Item{itemSystem, Missing, err.Error(), ""}
	}
	return Item{itemSystem, OK, "Linux " + unix.ByteSliceToString(name.Release[:]) + " " + runtime.GOARCH, ""}
}

// signals tries what every stop and kill is made of, on this process.
func signals() Item {
	start, err := proc.StartTimeOf(os.Getpid())
	if err == nil {
		var self *pidfd.Handle
		if self, err = pidfd.Open(pidfd.Target{Pid: os.Getpid(), Start: start}); err == nil {
			err = self.Signal(0)
			self.Close()
		}
	}
	if err != nil {
		return Item{itemPidfd, Missing, err.Error(), "Linux 5.4 or newer is needed, and a sandbox must allow pidfd_open and pidfd_send_signal"}
	}
	return Item{itemPidfd, OK, "processes can be signalled without mistaking one for another", ""}
}

// visibility asks whether /proc tells what is needed of a process of this
// account: its state, by which a stop is proven, and the folder and program by
// which an orphan is recognized.
func visibility() Item {
	const fix = "a sandbox must let processes of one account see each other in /proc"
	self := fmt.Sprintf("/proc/%d", os.Getpid())
	for _, file := range []string{"cwd", "exe"} {
		if _, err := os.Readlink(self + "/" + file); err != nil {
			return Item{itemProc, Missing, err.Error(), fix}
		}
	}
	if _, err := proc.StateOf(os.Getpid()); err != nil {
		return Item{itemProc, Missing, err.Error(), fix}
	}
	return Item{itemProc, OK, "states, folders and programs of processes can be read", ""}
}

func account() []Item {
	servers, err := cluster.ServerAccount()
	item := found(itemAccount, "", err)
	if err != nil {
		return []Item{item}
	}
	name := fmt.Sprint(os.Geteuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	item.Detail = fmt.Sprintf("%s; local servers run as %s", name, servers)
	if os.Geteuid() == 0 {
		return []Item{item}
	}
	return []Item{item, {
		Name: "privileges", State: Degraded,
		Detail: "not root: packages cannot be installed, and only containers give servers an account of their own",
	}}
}

const (
	minCores  = 2
	minMemory = 4 << 30
)

// room looks at space: cores, memory, files.
func room(context.Context) []Item {
	return []Item{machineSize(), temporaryFolder(), memoryFolder(), openFiles()}
}

func machineSize() Item {
	item := Item{Name: "size", State: OK}
	memory := availableMemory()
	item.Detail = fmt.Sprintf("%d cores, %.1f GiB of memory available", runtime.NumCPU(), float64(memory)/(1<<30))
	if runtime.NumCPU() < minCores || memory < minMemory {
		item.State = Degraded
		item.Fix = "2 cores and 4 GiB are wanted: a cell at more than 85 % load ends as inconclusive"
	}
	return item
}

func availableMemory() uint64 {
	content, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(content)) {
		var kib uint64
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

func temporaryFolder() Item {
	return found(itemTemp, os.TempDir(), cluster.CheckTemporaryFolder())
}

func memoryFolder() Item {
	path, ok := cluster.MemoryFolderHasRoom()
	if !ok {
		return Item{path, Degraded, "less than 1 GiB is free", "etcd's data goes to disk instead, which costs it some speed"}
	}
	return Item{path, OK, "has room for etcd's data", ""}
}

func openFiles() Item {
	const wanted = 4096
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return Item{"open files", Degraded, err.Error(), ""}
	}
	if limit.Max < wanted {
		return Item{"open files", Degraded, fmt.Sprintf("at most %d", limit.Max), fmt.Sprintf("ulimit -Hn %d", wanted)}
	}
	return Item{"open files", OK, fmt.Sprintf("up to %d", limit.Max), ""}
}

// leftovers lists runs that died together with their guardian.
func leftovers(context.Context) []Item {
	runs, err := guardian.Runs()
	if err != nil {
		return []Item{{"earlier runs", Degraded, err.Error(), ""}}
	}
	var dead, alive []string
	for _, run := range runs {
		if run.Alive {
			alive = append(alive, run.ID)
		} else {
			dead = append(dead, run.ID)
		}
	}
	switch {
	case len(dead) > 0:
		return []Item{{"earlier runs", Degraded, "left behind something: " + strings.Join(dead, ", "), "torture clean"}}
	case len(alive) > 0:
		return []Item{{"earlier runs", OK, "alive now: " + strings.Join(alive, ", "), ""}}
	}
	return []Item{{"earlier runs", OK, "left nothing behind", ""}}
}
