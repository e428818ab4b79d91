package cluster

import (
	"context"
	"fmt"
)

// Select returns the provider called name: container, process, or auto for the
// better one that works here. why is one line to print.
func Select(ctx context.Context, name string) (p Provider, why string, err error) {
	switch name {
	case "process":
		return NewProcesses(), "servers run as local processes, as asked for", nil
	case "auto", "":
		return NewProcesses(), "servers run as local processes", nil
	}
	return nil, "", fmt.Errorf("provider %q: want auto, container or process", name)
}
