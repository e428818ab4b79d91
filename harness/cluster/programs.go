package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// findPrograms finds what spec needs, by name.
func findPrograms(ctx context.Context, spec Spec) (map[string]string, error) {
	found := map[string]string{}
	for _, kind := range spec.kinds() {
		var err error
		switch kind {
		case Redis:
			found["redis-server"], err = findRedis()
		case Etcd:
			found["etcd"], err = findEtcd(ctx, spec.say)
			if path := findEtcdutl(found["etcd"]); err == nil && path != "" {
				found["etcdutl"] = path
			}
		case Postgres:
			found["postgres"], found["initdb"], err = findPostgres()
		}
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func findRedis() (string, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return "", &MissingError{What: "redis-server", Get: "apt-get install redis-server, or run `make torture` as root"}
	}
	return filepath.Abs(path)
}

// postgresFolders is where Debian's and Ubuntu's packages put the servers.
var postgresFolders = "/usr/lib/postgresql/*/bin"

// findPostgres looks for a folder that holds both programs, because a postgres
// on the PATH may be without its initdb: the newest of the packages' folders,
// then the PATH.
func findPostgres() (postgres, initdb string, err error) {
	folders, _ := filepath.Glob(postgresFolders)
	newest := -1
	for _, dir := range folders {
		version, err := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
		if err == nil && version > newest && isProgram(dir, "postgres") && isProgram(dir, "initdb") {
			newest = version
			postgres, initdb = filepath.Join(dir, "postgres"), filepath.Join(dir, "initdb")
		}
	}
	if newest >= 0 {
		return postgres, initdb, nil
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(dir) && isProgram(dir, "postgres") && isProgram(dir, "initdb") {
			return filepath.Join(dir, "postgres"), filepath.Join(dir, "initdb"), nil
		}
	}
	return "", "", &MissingError{What: "PostgreSQL's server (postgres and initdb)", Get: "apt-get install postgresql, or run `make torture` as root"}
}

func isProgram(dir, name string) bool {
	info, err := os.Stat(filepath.Join(dir, name))
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// openToAll says whether every user may run the program at path, which holds no
// symbolic links.
func openToAll(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o005 == 0o005 && passable(filepath.Dir(path))
}

// passable says whether every user may pass through dir and what is above it.
func passable(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}

// copyProgram keeps all of this process from forking meanwhile: a child that
// had the copy open for writing, until its exec, would keep others from
// running it ("text file busy").
func copyProgram(from, to string) (string, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	in, err := os.Open(from)
	if err != nil {
		return "", fmt.Errorf("copy a program: %w", err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return "", fmt.Errorf("copy a program: %w", err)
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return "", fmt.Errorf("copy a program: %w", err)
	}
	if err := out.Chmod(0o755); err != nil { // whatever the umask
		return "", fmt.Errorf("copy a program: %w", err)
	}
	return to, out.Close()
}

// serverAccount is the account that servers run as: PostgreSQL refuses to run
// as root, and no server needs to. nil means our own.
func serverAccount() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if uidErr == nil && gidErr == nil && uid != 0 {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, &MissingError{What: "an account for the servers (postgres or nobody)", Get: "PostgreSQL does not run as root"}
}

// memoryFolder is a file system in memory, and etcdRoom what etcd may need there.
const (
	memoryFolder = "/dev/shm"
	etcdRoom     = 1 << 30
	diskRoom     = 1 << 30 // and everything else on disk
)

func errPrivateTemp() error {
	return fmt.Errorf("servers cannot run as another user in %s, which only root can reach: set TMPDIR to another folder", os.TempDir())
}

func hasRoom(path string, bytes uint64) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && fs.Bavail*uint64(fs.Bsize) >= bytes
}
