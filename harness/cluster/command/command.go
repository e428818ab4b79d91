// Package command runs a program to its end.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/torture-harness/torture/harness/proc"
)

// Run runs cmd, which dies with us, and returns all that it printed. The error
// of a failed one ends with its last line. When ctx ends, the program is killed.
func Run(ctx context.Context, cmd *exec.Cmd) (string, error) {
	name := filepath.Base(cmd.Path)
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return "", fmt.Errorf("run %s: %w", name, err)
	}
	output := os.NewFile(uintptr(fd), name)
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output
	p, err := proc.Start(cmd)
	if err != nil {
		return "", err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		return "", errors.Join(fmt.Errorf("run %s: %w", name, context.Cause(ctx)), p.Kill(context.WithoutCancel(ctx)))
	}
	printed, err := io.ReadAll(io.NewSectionReader(output, 0, 1<<30))
	if err != nil {
		return "", fmt.Errorf("run %s: %w", name, err)
	}
	text := strings.TrimSpace(string(printed))
	if err := p.Err(); err != nil {
		return text, fmt.Errorf("%s failed (%w): %s", name, err, text[strings.LastIndexByte(text, '\n')+1:])
	}
	return text, nil
}
