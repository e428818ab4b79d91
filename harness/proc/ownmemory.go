package proc

import (
	"os/exec"

	"golang.org/x/sys/unix"
)

const sharedMemory = "/dev/shm"

// StartOwnMemory is Start for a program that makes POSIX shared memory, which
// outlives whoever is killed: the child gets a /dev/shm of its own, shared with
// its descendants and others started so, that is gone with us and them. Only
// root can give it one, so it is best effort: otherwise it is the same as Start.
// The child must use no files in /dev/shm.
func StartOwnMemory(cmd *exec.Cmd) (*Process, error) { return start(ownMemorySpawner(), cmd) }

// ownMemorySpawner is made anew each time: where mounts do not propagate, one
// made before does not see what has been mounted since.
func ownMemorySpawner() chan<- request {
	requests, err := spawn(unshareMemory)
	if err != nil {
		return spawner()
	}
	return requests
}

// unshareMemory gives the calling thread a /dev/shm of its own, which it leaves
// to its children; see mount_namespaces(7). It still sees what others mount and
// unmount elsewhere.
func unshareMemory() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return err
	}
	return unix.Mount("tmpfs", sharedMemory, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777")
}
