package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/moby/moby/client"

	"github.com/torture-harness/torture/harness/cluster/rootfs"
)

// Select returns the provider called name: container, process, or auto for
// containers where they can be had and processes elsewhere. why is one line to
// print.
func Select(ctx context.Context, name string) (p Provider, why string, err error) {
	switch name {
	case "process":
		return NewProcesses(), "servers run as local processes, as asked for", nil
	case "container":
		version, err := engineVersion(ctx)
		if err != nil {
			return nil, "", err
		}
		return NewContainers(), "servers run in containers (engine " + version + "), as asked for", nil
	case "auto", "":
		p, why := auto(ctx)
		return p, why, nil
	}
	return nil, "", fmt.Errorf("provider %q: want auto, container or process", name)
}

func auto(ctx context.Context) (Provider, string) {
	c, err := Engine(ctx)
	var missing *MissingError
	switch {
	case errors.Is(err, ErrEngineForbidden):
		return NewProcesses(), "servers run as local processes: " + ErrEngineForbidden.Error()
	case errors.As(err, &missing):
		return NewProcesses(), "servers run as local processes: no container engine answers"
	case err != nil:
		return NewProcesses(), "servers run as local processes: " + err.Error()
	}
	defer c.Close()
	for _, kind := range Kinds {
		if _, ok := localImage(ctx, c, kind); ok {
			continue
		}
		if registryAnswers(ctx, c, official[kind]) {
			return NewContainers(), "servers run in containers; images are pulled first"
		}
		if rootfs.Available() {
			return NewContainers(), "servers run in containers; images are built first (half a minute)"
		}
		return NewProcesses(), "servers run as local processes: there are no images for containers, and none can be pulled or built"
	}
	return NewContainers(), "servers run in containers"
}

func engineVersion(ctx context.Context) (string, error) {
	c, err := Engine(ctx)
	if err != nil {
		return "", err
	}
	defer c.Close()
	version, err := c.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return "", fmt.Errorf("ask the container engine for its version: %w", err)
	}
	return version.Version, nil
}
