package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// containerBody is a server that is a container.
type containerBody struct {
	host   *containerHost
	engine *client.Client
	kind   Kind
	name   string
	log    string
	launch launch
	clock  *clock

	id    string
	ended <-chan struct{} // of the present life
}

func (b *containerBody) start(ctx context.Context) (<-chan struct{}, error) {
	since := time.Now()
	// The wait is set up first, so that the end of a short life is not missed.
	// It lasts as long as the container's life, not as long as this call.
	life := context.WithoutCancel(ctx)
	if _, err := b.engine.ContainerStart(ctx, b.id, client.ContainerStartOptions{}); err != nil {
		return nil, err
	}
	wait := b.engine.ContainerWait(life, b.id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		b.copyLog(life, since)
	}()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-wait.Result:
		case <-wait.Error: // removed, or the engine has gone
		}
		select { // whoever reads of the end may want to read the last words
		case <-logged:
		case <-time.After(2 * time.Second):
		}
	}()
	b.ended = ended
	return ended, nil
}

// copyLog appends what the container prints from now on to the log.
func (b *containerBody) copyLog(ctx context.Context, since time.Time) {
	log, err := appendLog(b.log)
	if err != nil {
		return
	}
	defer log.Close()
	output, err := b.engine.ContainerLogs(ctx, b.id, client.ContainerLogsOptions{
		ShowStdout: true, ShowStderr: true, Follow: true, Since: since.Format(time.RFC3339Nano),
	})
	if err != nil {
		fmt.Fprintf(log, "the container's output cannot be read: %v\n", err)
		return
	}
	defer output.Close()
	_, _ = stdcopy.StdCopy(log, log, output)
}

// stop freezes the whole container, which stops all its processes between two
// instructions, and returns once both the engine and the kernel say so.
func (b *containerBody) stop(ctx context.Context) error {
	if _, err := b.engine.ContainerPause(ctx, b.id, client.ContainerPauseOptions{}); err != nil {
		return err
	}
	err := b.proveFrozen(ctx)
	if err != nil {
		err = errors.Join(err, b.resume(context.WithoutCancel(ctx)))
	}
	return err
}

func (b *containerBody) proveFrozen(ctx context.Context) error {
	found, err := b.engine.ContainerInspect(ctx, b.id, client.ContainerInspectOptions{})
	if err != nil {
		return err
	}
	if !found.Container.State.Paused {
		return errors.New("the engine does not say that it is paused")
	}
	return provenByKernel(ctx, found.Container.State.Pid)
}

func (b *containerBody) resume(ctx context.Context) error {
	_, err := b.engine.ContainerUnpause(ctx, b.id, client.ContainerUnpauseOptions{})
	return err
}

// kill sends SIGKILL to the first process of the container, with which the
// kernel ends all others. A frozen container gets it when the engine thaws it.
func (b *containerBody) kill(ctx context.Context) error {
	if b.ended == nil {
		return nil
	}
	if _, err := b.engine.ContainerKill(ctx, b.id, client.ContainerKillOptions{Signal: "KILL"}); err != nil {
		return err
	}
	select {
	case <-b.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("it has not ended: %w", context.Cause(ctx))
	}
}

// freezers are where the kernel says whether a group of processes is frozen:
// cgroup version 2, then version 1.
var freezers = []struct{ controller, root, file, frozen string }{
	{"", "/sys/fs/cgroup", "cgroup.events", "frozen 1"},
	{"", "/sys/fs/cgroup/unified", "cgroup.events", "frozen 1"},
	{"freezer", "/sys/fs/cgroup/freezer", "freezer.state", "FROZEN"},
}

// provenByKernel waits until the kernel says that the group of process pid is
// frozen. Where it cannot be asked, because the engine runs elsewhere, say, the
// engine's own word has to do.
func provenByKernel(ctx context.Context, pid int) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		frozen, known := frozenState(pid)
		if frozen || !known {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the kernel does not say that it is frozen: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
}

func frozenState(pid int) (frozen, known bool) {
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return false, false
	}
	for line := range strings.Lines(string(groups)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3) // 7:freezer:/docker/…, or 0::/docker/…
		if len(part) != 3 || part[2] == "/" {
			continue
		}
		for _, f := range freezers {
			if f.controller != part[1] {
				continue
			}
			state, err := os.ReadFile(filepath.Join(f.root, part[2], f.file))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			known = true
			if err == nil && strings.Contains(string(state), f.frozen) {
				return true, true
			}
		}
	}
	return false, known
}
