package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/torture-harness/torture/harness/guardian"
	"github.com/torture-harness/torture/harness/guardian/pidfd"
)

// fill makes the server's folder and prepares what must be there before the
// first start.
func (b *processBody) fill(ctx context.Context) error {
	if err := os.Mkdir(b.dir, 0o700); err != nil {
		return err
	}
	if err := b.host.write(b.dir, b.launch.files); err != nil {
		return err
	}
	if err := b.host.give(b.dir); err != nil {
		return err
	}
	if b.launch.prepare == nil {
		return nil
	}
	return b.prepare(ctx, *b.launch.prepare)
}

// empty makes the folder anew.
func (b *processBody) empty(ctx context.Context) error {
	if err := b.sweep(ctx); err != nil {
		return err
	}
	guardian.ReleaseSharedMemory(filepath.Dir(b.dir))
	if err := os.RemoveAll(b.dir); err != nil {
		return err
	}
	return b.fill(ctx)
}

// run runs a program in the server's folder.
func (b *processBody) run(ctx context.Context, launch func(dir string) launch) error {
	l := launch(b.dir)
	if err := b.host.write(b.dir, l.files); err != nil {
		return err
	}
	return b.prepare(ctx, l)
}

// locate looks for a child of the server: both of us count processes alike.
func (b *processBody) locate(_ context.Context, pid int) (pidfd.Target, error) {
	for _, t := range pidfd.Descendants(b.process.Pid()) {
		if t.Pid == pid {
			return t, nil
		}
	}
	return pidfd.Target{}, fmt.Errorf("process %d is none of its children", pid)
}
