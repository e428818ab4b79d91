package cluster

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/torture-harness/torture/harness/cluster/rootfs"
)

// Kinds lists all kinds of servers.
var Kinds = []Kind{Redis, Etcd, Postgres}

// Installed says which program would serve as a local process of kind, its path
// and what it says of its version. It builds nothing; an etcd that would be
// built has a note for its path. The error is a *MissingError.
func Installed(ctx context.Context, kind Kind) (path, version string, err error) {
	switch kind {
	case Redis:
		path, err = findRedis()
	case Postgres:
		path, _, err = findPostgres()
	case Etcd:
		path, err = installedEtcd(ctx)
	}
	if err != nil || !filepath.IsAbs(path) {
		return path, "", err
	}
	return path, askProgram(ctx, path), nil
}

func installedEtcd(ctx context.Context) (string, error) {
	if path, err := exec.LookPath("etcd"); err == nil && newEnough(ctx, path) {
		return filepath.Abs(path)
	}
	folder, err := etcdFolder()
	if err != nil {
		return "", err
	}
	if etcdIsIn(folder) {
		return filepath.Join(folder, "etcd"), nil
	}
	if _, err := exec.LookPath("go"); err != nil {
		return "", errNoEtcd()
	}
	return etcdRelease + " is built when first needed (about a minute)", nil
}

var versionNumber = regexp.MustCompile(`\d+(\.\d+)+`)

// askProgram returns the version number that a server prints.
func askProgram(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return ""
	}
	return versionNumber.FindString(string(out))
}

// LocalImage is the image that a container of kind would be made of without
// asking a registry; "" if there is none yet.
func LocalImage(ctx context.Context, kind Kind) (string, error) {
	c, err := Engine(ctx)
	if err != nil {
		return "", err
	}
	defer c.Close()
	name, _ := localImage(ctx, c, kind)
	return name, nil
}

// RegistryAnswers says whether official images can be pulled. It takes up to 8 s
// where nothing answers.
func RegistryAnswers(ctx context.Context) (bool, error) {
	c, err := Engine(ctx)
	if err != nil {
		return false, err
	}
	defer c.Close()
	return registryAnswers(ctx, c, official[Redis]), nil
}

// EngineVersion is the version of the container engine.
func EngineVersion(ctx context.Context) (string, error) { return engineVersion(ctx) }

// CanBuildImages says whether images can be built here without a registry, from
// Debian's packages or from what is installed.
func CanBuildImages(ctx context.Context) error {
	if _, err := installedEtcd(ctx); err != nil {
		return err
	}
	if rootfs.Available() {
		return nil
	}
	for _, kind := range []Kind{Redis, Postgres} {
		if _, _, err := hostContent(kind); err != nil {
			return err
		}
	}
	return nil
}

// ServerAccount is the name of the account that local servers run as.
func ServerAccount() (string, error) {
	credential, err := serverAccount()
	if err != nil {
		return "", err
	}
	uid := os.Geteuid()
	if credential != nil {
		uid = int(credential.Uid)
	}
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return strconv.Itoa(uid), nil
	}
	return u.Username, nil
}

// CheckTemporaryFolder says whether local servers can have their folders below
// the folder for temporary files.
func CheckTemporaryFolder() error {
	if os.Geteuid() == 0 && !passable(os.TempDir()) {
		return errPrivateTemp()
	}
	if !hasRoom(os.TempDir(), diskRoom) {
		return errors.New("less than 1 GiB is free in " + os.TempDir())
	}
	return nil
}

// MemoryFolderHasRoom says whether etcd's data fits into the file system in
// memory, whose path it returns.
func MemoryFolderHasRoom() (path string, ok bool) {
	return memoryFolder, hasRoom(memoryFolder, etcdRoom)
}
