package cluster

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-semver/semver"
	"golang.org/x/sys/unix"

	"github.com/torture-harness/torture/harness/cluster/command"
)

// etcd is packaged nowhere in a version that will do: before 3.6.9 a member
// that was paused may answer reads from its past (etcd issue 20418). It is a Go
// program, so it is built, in a module of its own because it wants other
// versions of some modules than we do.
var (
	//go:embed etcdmodule/go.mod.txt
	etcdMod []byte
	//go:embed etcdmodule/go.sum.txt
	etcdSum []byte

	etcdAtLeast = semver.New("3.6.9")
)

// etcdRelease is the version that etcdmodule requires.
const etcdRelease = "3.6.16"

// etcdPrograms are what is built: name → package. etcdutl makes a member's data
// of a snapshot.
var etcdPrograms = map[string]string{
	"etcd":    "go.etcd.io/etcd/server/v3",
	"etcdutl": "go.etcd.io/etcd/etcdutl/v3",
}

var etcdBuild = []string{"build", "-mod=readonly", "-trimpath", "-ldflags=-s -w", "-o"}

// findEtcd returns an etcd that is new enough: the one on the PATH, the one
// built before, or one that it builds now, which takes a minute.
func findEtcd(ctx context.Context, say func(string, ...any)) (string, error) {
	if path, err := exec.LookPath("etcd"); err == nil && newEnough(ctx, path) {
		return filepath.Abs(path)
	}
	folder, err := etcdFolder()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(folder, "etcd")
	if etcdIsIn(folder) {
		return binary, nil
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		return "", errNoEtcd()
	}
	if err := buildEtcd(ctx, goTool, folder, say); err != nil {
		return "", err
	}
	return binary, nil
}

// etcdIsIn says whether folder holds all of etcd's programs.
func etcdIsIn(folder string) bool {
	for name := range etcdPrograms {
		if !isProgram(folder, name) {
			return false
		}
	}
	return true
}

// findEtcdutl returns the etcdutl that lies beside an etcd, or the one on the
// PATH; "" if there is none, which only a restore minds.
func findEtcdutl(etcd string) string {
	if dir := filepath.Dir(etcd); isProgram(dir, "etcdutl") {
		return filepath.Join(dir, "etcdutl")
	}
	path, err := exec.LookPath("etcdutl")
	if err != nil {
		return ""
	}
	if path, err = filepath.Abs(path); err != nil {
		return ""
	}
	return path
}

func errNoEtcd() error {
	return &MissingError{
		What: "etcd " + etcdAtLeast.String() + " or newer",
		Get:  "put one on the PATH, or install Go and run `make torture`, which builds it",
	}
}

// newEnough asks an etcd for its version.
func newEnough(ctx context.Context, path string) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(out)) {
		if text, ok := strings.CutPrefix(line, "etcd Version: "); ok {
			version, err := semver.NewVersion(strings.TrimSpace(text))
			return err == nil && !version.LessThan(*etcdAtLeast)
		}
	}
	return false
}

// etcdFolder is where the build is kept. Its name changes with the recipe, so
// an old build is never taken for a new one.
func etcdFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w", err)
	}
	recipe := sha256.New()
	for _, part := range [][]byte{etcdMod, etcdSum, []byte(etcdRecipe()), []byte(runtime.GOARCH)} {
		recipe.Write(part)
		recipe.Write([]byte{0})
	}
	hash := hex.EncodeToString(recipe.Sum(nil))[:12]
	return filepath.Join(cache, "torture", "etcd-"+etcdRelease+"-"+hash), nil
}

// etcdRecipe is how the programs are built, in one text.
func etcdRecipe() string { return fmt.Sprint(etcdBuild, etcdPrograms) } // maps are printed in order

// buildEtcd builds etcd into folder, complete or not at all. Two at once: the
// second waits for the first and finds its work done.
func buildEtcd(ctx context.Context, goTool, folder string, say func(string, ...any)) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("build etcd: %w", err)
	}
	lock, err := lockFile(ctx, filepath.Join(folder, "lock"))
	if err != nil {
		return fmt.Errorf("build etcd: %w", err)
	}
	defer lock.Close()
	if etcdIsIn(folder) {
		return nil
	}
	say("building etcd %s (once; about a minute)", etcdRelease)
	work := filepath.Join(folder, "build") // ours alone, for we have the lock
	if err := os.RemoveAll(work); err != nil {
		return fmt.Errorf("build etcd: %w", err)
	}
	if err := os.Mkdir(work, 0o755); err != nil {
		return fmt.Errorf("build etcd: %w", err)
	}
	defer os.RemoveAll(work)
	for name, content := range map[string][]byte{"go.mod": etcdMod, "go.sum": etcdSum} {
		if err := os.WriteFile(filepath.Join(work, name), content, 0o644); err != nil {
			return fmt.Errorf("build etcd: %w", err)
		}
	}
	for name, pkg := range etcdPrograms {
		if err := runBuild(ctx, goTool, work, name, pkg); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(work, name), filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("build etcd: %w", err)
		}
	}
	return nil
}

func runBuild(ctx context.Context, goTool, work, name, pkg string) error {
	cmd := exec.Command(goTool, append(slices.Clone(etcdBuild), name, pkg)...)
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOTMPDIR="+work)
	_, err := command.Run(ctx, cmd)
	if err != nil && ctx.Err() == nil {
		return &MissingError{
			What: "etcd " + etcdAtLeast.String() + " or newer",
			Get:  fmt.Sprintf("put one on the PATH; building %s did not work: %v", etcdRelease, err),
		}
	}
	return err
}

// lockFile waits for an exclusive lock, which ends when the file is closed.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("wait for the lock %s: %w", path, context.Cause(ctx))
		case <-tick.C:
		}
	}
}
