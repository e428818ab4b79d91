package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/torture-harness/torture/harness/cluster/command"
)

// libfaketime would do for most programs; Redis it crashes, because it calls
// the functions that it replaces from within the memory allocator.
//
//go:embed wallclock/clock.c
var clockSource []byte

// clockFlags make a library of the source that wants no other one.
var clockFlags = []string{"-shared", "-fPIC", "-O2", "-Wall", "-ffreestanding", "-fno-stack-protector", "-nostdlib", "-x", "c", "-"}

// clockLibrary returns the path of the preloaded clock, compiled if it has not
// been before; "" if spec wants none.
func (spec Spec) clockLibrary(ctx context.Context) (string, error) {
	if !spec.RedisClock || spec.Redis == 0 {
		return "", nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w", err)
	}
	hash := sha256.Sum256([]byte(string(clockSource) + strings.Join(clockFlags, " ") + runtime.GOARCH))
	folder := filepath.Join(cache, "torture")
	path := filepath.Join(folder, "clock-"+hex.EncodeToString(hash[:6])+".so")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("compile the clock: %w", err)
	}
	compiler, err := findCompiler()
	if err != nil {
		return "", err
	}
	lock, err := lockFile(ctx, path+".lock")
	if err != nil {
		return "", fmt.Errorf("compile the clock: %w", err)
	}
	defer lock.Close()
	part := path + ".part"
	cmd := exec.Command(compiler, append([]string{"-o", part}, clockFlags...)...)
	cmd.Stdin = bytes.NewReader(clockSource)
	if _, err := command.Run(ctx, cmd); err != nil {
		return "", fmt.Errorf("compile the clock: %w", err)
	}
	if err := os.Rename(part, path); err != nil {
		return "", fmt.Errorf("compile the clock: %w", err)
	}
	return path, nil
}

func findCompiler() (string, error) {
	for _, name := range []string{"cc", "gcc", "clang"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", &MissingError{What: "a C compiler (to give Redis a wall clock of its own)", Get: "apt-get install gcc, or run `make torture` as root"}
}
