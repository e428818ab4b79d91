package doctor

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/torture-harness/torture/harness/cluster"
)

const (
	itemRedis    = "redis-server"
	itemEtcd     = "etcd"
	itemPostgres = "postgres"
	itemEngine   = "container engine"
	itemImages   = "images"
)

func toolchain(ctx context.Context) []Item {
	path, err := exec.LookPath("go")
	if err != nil {
		return []Item{{"go", Degraded, "not on the PATH", "it is needed only to build etcd"}}
	}
	out, err := exec.CommandContext(ctx, path, "version").Output()
	if err != nil {
		return []Item{{"go", Degraded, err.Error(), ""}}
	}
	return []Item{{"go", OK, strings.TrimSpace(string(out)), ""}}
}

// programs looks for the servers that local processes would be.
func programs(ctx context.Context) []Item {
	var items []Item
	for _, one := range []struct {
		name string
		kind cluster.Kind
	}{{itemRedis, cluster.Redis}, {itemEtcd, cluster.Etcd}, {itemPostgres, cluster.Postgres}} {
		path, version, err := cluster.Installed(ctx, one.kind)
		detail := path
		if version != "" {
			detail = fmt.Sprintf("%s (%s)", version, path)
		}
		items = append(items, found(one.name, detail, err))
	}
	return items
}

// engine looks at what containers need.
func engine(ctx context.Context) []Item {
	version, err := cluster.EngineVersion(ctx)
	if err != nil {
		item := found(itemEngine, "", err)
		if errors.Is(err, cluster.ErrEngineForbidden) {
			item.Detail = "there is one, and this account may not use it"
		}
		return []Item{item}
	}
	return append([]Item{{itemEngine, OK, "version " + version, ""}}, images(ctx)...)
}

func images(ctx context.Context) []Item {
	var here, absent []string
	for _, kind := range cluster.Kinds {
		name, err := cluster.LocalImage(ctx, kind)
		if err != nil {
			return []Item{found(itemImages, "", err)}
		}
		if name == "" {
			absent = append(absent, string(kind))
			continue
		}
		here = append(here, name)
	}
	if len(absent) == 0 {
		return []Item{{itemImages, OK, strings.Join(here, ", "), ""}}
	}
	answers, err := cluster.RegistryAnswers(ctx)
	if err != nil {
		return []Item{found(itemImages, "", err)}
	}
	none := "none yet for " + strings.Join(absent, ", ")
	if answers {
		return []Item{{"registry", OK, "answers", ""}, {itemImages, Degraded, none, "they are pulled when first needed"}}
	}
	registry := Item{"registry", Degraded, "does not answer", "images are built here instead"}
	if err := cluster.CanBuildImages(ctx); err != nil {
		item := found(itemImages, "", err)
		item.Detail = none + ", and they cannot be built: " + item.Detail
		return []Item{registry, item}
	}
	return []Item{registry, {itemImages, Degraded, none, "they are built when first needed (half a minute), or now: torture images build"}}
}
