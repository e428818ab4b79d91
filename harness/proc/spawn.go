// Package proc starts, stops, continues and kills child processes, and proves
// what it says about them. Signals go through a pidfd, so never to a process
// that merely inherited the number.
package proc

import (
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

type request struct {
	cmd   *exec.Cmd
	reply chan error
}

// Pdeathsig is sent when the *thread* that forked ends, not the process. All
// children are therefore started from one thread that lives as long as we do.
var spawner = sync.OnceValue(func() chan<- request {
	requests, _ := spawn(func() error { return nil })
	return requests
})

// spawn sets up a thread that starts children.
func spawn(setUp func() error) (chan<- request, error) {
	requests, ready := make(chan request), make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread must not end, or ends unused
		err := setUp()
		ready <- err
		if err != nil {
			return
		}
		for r := range requests {
			r.reply <- r.cmd.Start()
		}
	}()
	return requests, <-ready
}

// Start starts cmd in a process group of its own. The child is killed by the
// kernel when this process dies, however it dies. Standard streams of cmd
// should be files, not readers and writers of Go, so that nothing of ours must
// run for the child to go on.
func Start(cmd *exec.Cmd) (*Process, error) { return start(spawner(), cmd) }

func start(spawner chan<- request, cmd *exec.Cmd) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	pidfd := -1
	attr := cmd.SysProcAttr
	attr.Setpgid = !attr.Setsid // a new session is a new group already
	attr.Pdeathsig = syscall.SIGKILL
	attr.PidFD = &pidfd

	r := request{cmd: cmd, reply: make(chan error, 1)}
	spawner <- r
	if err := <-r.reply; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	p := &Process{cmd: cmd, pid: cmd.Process.Pid, pidfd: pidfd, done: make(chan struct{}), state: Running}
	p.start, _ = StartTimeOf(p.pid)
	go p.reap()
	if pidfd < 0 {
		_ = cmd.Process.Kill()
		<-p.done
		return nil, fmt.Errorf("start %s: this kernel gives no pidfd (Linux 5.4 or newer is needed)", cmd.Path)
	}
	return p, nil
}
