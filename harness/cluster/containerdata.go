package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/torture-harness/torture/harness/guardian/pidfd"
	"github.com/torture-harness/torture/harness/proc"
)

// create makes the server's container, with a volume without a name if it keeps
// data, for the file system of a container itself is slow to sync. The volume
// goes with the container.
func (b *containerBody) create(ctx context.Context) error {
	var mounts []mount.Mount
	var env []string
	if b.launch.keeps {
		mounts = append(mounts, mount.Mount{Type: mount.TypeVolume, Target: folder})
	}
	if b.clock != nil {
		mounts = append(mounts, mount.Mount{Type: mount.TypeBind, Source: b.clock.dir, Target: clockFolder, ReadOnly: true})
		env = b.clock.env(clockFolder)
	}
	created, err := b.host.container(ctx, b.kind, b.name, b.launch, env, func(c *container.HostConfig) { c.Mounts = mounts })
	if err != nil {
		return err
	}
	b.id = created.GetContainerID()
	return nil
}

// clockFolder is where a container sees its wall clock.
const clockFolder = "/torture-clock"

// empty makes the container anew, and its volume with it.
func (b *containerBody) empty(ctx context.Context) error {
	if _, err := b.engine.ContainerRemove(ctx, b.id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true}); err != nil {
		return err
	}
	b.ended = nil
	return b.create(ctx)
}

// run runs a program of the server's image in a container of its own, which
// shares the volume of the server's.
func (b *containerBody) run(ctx context.Context, launch func(dir string) launch) error {
	l := launch(folder)
	created, err := b.host.container(ctx, b.kind, b.name+"-"+l.program, l, nil, func(c *container.HostConfig) {
		c.NetworkMode = "none"
		c.VolumesFrom = []string{b.id}
	})
	if err != nil {
		return err
	}
	once := &containerBody{engine: b.engine, id: created.GetContainerID(), log: b.log}
	// Without its volumes, which are the server's.
	defer func() {
		_, _ = b.engine.ContainerRemove(context.WithoutCancel(ctx), once.id, client.ContainerRemoveOptions{Force: true})
	}()
	ended, err := once.start(ctx)
	if err != nil {
		return err
	}
	select {
	case <-ended:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	found, err := b.engine.ContainerInspect(ctx, once.id, client.ContainerInspectOptions{})
	if err != nil {
		return err
	}
	if code := found.Container.State.ExitCode; code != 0 {
		s := Server{Log: b.log}
		return fmt.Errorf("%s failed (exit status %d)%s", l.program, code, s.lastWords())
	}
	return nil
}

// locate looks for a process of the container that has the number pid inside.
func (b *containerBody) locate(ctx context.Context, pid int) (pidfd.Target, error) {
	found, err := b.engine.ContainerInspect(ctx, b.id, client.ContainerInspectOptions{})
	if err != nil {
		return pidfd.Target{}, err
	}
	first := found.Container.State.Pid
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", first))
	if err != nil || !strings.Contains(string(groups), b.id) {
		return pidfd.Target{}, errors.New("the processes of its container cannot be seen from here")
	}
	for _, t := range pidfd.Descendants(first) {
		if inside, err := proc.InnermostPid(t.Pid); err == nil && inside == pid {
			return t, nil
		}
	}
	return pidfd.Target{}, fmt.Errorf("its container has no process %d", pid)
}
