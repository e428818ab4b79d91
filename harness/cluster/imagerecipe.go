package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/torture-harness/torture/harness/cluster/rootfs"
)

// Images built here hold a server, the libraries it loads and its data, and
// nothing else. Redis and PostgreSQL come from Debian's packages, unpacked
// beside the system, or, where there are none to be had, from this machine's
// own installation. Their names end with a hash of the recipe.
const (
	repository  = "torture-local/"
	recipeLabel = "torture.recipe"
)

// recipe is how the image of a kind is made.
type recipe struct {
	Version  int      // to be raised when rootfs packs differently
	Packages []string // of rootfs.Release
	Content  rootfs.Content
	Built    bool // of etcd's programs, made here, which go to /usr/bin
}

const accounts = "root:x:0:0:root:/root:/bin/sh\npostgres:x:999:999::/tmp:/bin/sh\nnobody:x:65534:65534::/tmp:/bin/sh\n"
const groups = "root:x:0:\npostgres:x:999:\nnogroup:x:65534:\n"

var recipes = map[Kind]recipe{
	Redis: {
		Version:  1,
		Packages: []string{"redis-server"},
		Content: rootfs.Content{
			Programs: map[string]string{"/usr/bin/redis-server": "/usr/bin/redis-server"},
			Files:    map[string]string{"/etc/passwd": accounts, "/etc/group": groups},
		},
	},
	Postgres: {
		Version:  1,
		Packages: []string{"postgresql-17", "tzdata", "dash"},
		Content:  postgresContent("17"),
	},
	Etcd: {
		Version: 1,
		Content: rootfs.Content{Files: map[string]string{"/etc/passwd": accounts, "/etc/group": groups}},
		Built:   true,
	},
}

func postgresContent(version string) rootfs.Content {
	bin := "/usr/lib/postgresql/" + version + "/bin/"
	return rootfs.Content{
		Programs: map[string]string{bin + "postgres": bin + "postgres", bin + "initdb": bin + "initdb", "/bin/sh": "/usr/bin/dash"},
		Data:     []string{"/usr/lib/postgresql/" + version + "/lib", "/usr/share/postgresql/" + version, "/usr/share/zoneinfo"},
		Skip:     []string{"bitcode", "pgxs", "llvmjit*", "man", "right", "posix"},
		Files:    map[string]string{"/etc/passwd": accounts, "/etc/group": groups},
	}
}

// hostContent is the content of an image made of this machine's own programs.
func hostContent(kind Kind) (rootfs.Content, string, error) {
	content := recipes[kind].Content
	var program string
	switch kind {
	case Redis:
		path, err := findRedis()
		if err != nil {
			return content, "", err
		}
		program = path
		content.Programs = map[string]string{"/usr/bin/redis-server": path}
	case Postgres:
		postgres, _, err := findPostgres()
		if err != nil {
			return content, "", err
		}
		program = postgres
		version := filepath.Base(filepath.Dir(filepath.Dir(postgres)))
		if !strings.HasPrefix(postgres, "/usr/lib/postgresql/") {
			return content, "", fmt.Errorf("%s is not laid out as Debian's and cannot be put into an image", postgres)
		}
		content = postgresContent(version)
		content.Programs["/bin/sh"] = "/bin/sh"
	}
	name, err := hostName(kind, program)
	return content, name, err
}

// builtNames are the names that an image built here may have, best first.
func builtNames(kind Kind) []string {
	names := []string{recipeName(kind)}
	if !recipes[kind].Built {
		if _, name, err := hostContent(kind); err == nil {
			names = append(names, name)
		}
	}
	return names
}

// recipeName is the name of the image made by the present recipe.
func recipeName(kind Kind) string {
	text := fmt.Sprintf("%+v %s %s", recipes[kind], rootfs.Release, runtime.GOARCH) // maps are printed in order
	if kind == Etcd {
		text += string(etcdMod) + string(etcdSum) + etcdRecipe()
	}
	return imageName(kind, "", text)
}

// hostName changes with the program that it was made of.
func hostName(kind Kind, program string) (string, error) {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	return imageName(kind, "host-", fmt.Sprintf("%d %s %d %d", recipes[kind].Version, real, info.Size(), info.ModTime().UnixNano())), nil
}

func imageName(kind Kind, prefix, recipe string) string {
	hash := sha256.Sum256([]byte(recipe))
	return repository + string(kind) + ":" + prefix + hex.EncodeToString(hash[:6])
}
