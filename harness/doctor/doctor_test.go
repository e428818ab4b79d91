package doctor

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func check(t *testing.T) map[string]Item {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	items := Check(ctx)
	byName := map[string]Item{}
	for _, item := range items {
		if item.Name == "" || item.Detail == "" || strings.Contains(item.Detail+item.Fix, "\n") {
			t.Errorf("item %+v", item)
		}
		byName[item.Name] = item
	}
	var text strings.Builder
	if err := Render(&text, items); err != nil {
		t.Error(err)
	}
	t.Log("\n" + text.String())
	if got := strings.Count(text.String(), "\n"); got < len(items) {
		t.Errorf("%d lines for %d items", got, len(items))
	}
	return byName
}

// private gives the test a state folder of its own and an engine that is not there.
func private(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(t.TempDir(), "none.sock"))
}

func TestHealthy(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	items := check(t)
	for _, name := range []string{itemSystem, itemPidfd, itemProc, itemAccount, itemRedis, itemEtcd, itemPostgres, withProcesses} {
		if items[name].State != OK {
			t.Errorf("%+v", items[name])
		}
	}
}

func TestNothingThere(t *testing.T) {
	private(t)
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	items := check(t)
	for name, fix := range map[string]string{
		itemRedis:  "apt-get install redis-server",
		itemEtcd:   "PATH",
		itemEngine: "apt-get install docker.io",
	} {
		if item := items[name]; item.State != Missing || !strings.Contains(item.Fix, fix) {
			t.Errorf("%+v", item)
		}
	}
	if Ready([]Item{items[withProcesses], items[withContainers]}) {
		t.Error("it is said to be ready")
	}
	for _, name := range []string{withProcesses, withContainers} {
		if items[name].State != Missing {
			t.Errorf("%+v", items[name])
		}
	}
}

func TestForbiddenEngine(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("nothing is forbidden to root")
	}
	private(t)
	socket := strings.TrimPrefix(os.Getenv("DOCKER_HOST"), "unix://")
	if err := os.WriteFile(socket, nil, 0); err != nil {
		t.Fatal(err)
	}
	if item := check(t)[itemEngine]; item.State != Missing || !strings.Contains(item.Detail, "may not use it") {
		t.Errorf("%+v", item)
	}
}

func TestLeftovers(t *testing.T) {
	private(t)
	dir := filepath.Join(os.Getenv("XDG_STATE_HOME"), "torture", "runs", "dead-run")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	item := leftovers(t.Context())[0]
	if item.State != Degraded || !strings.Contains(item.Detail, "dead-run") || item.Fix != "torture clean" {
		t.Errorf("%+v", item)
	}
	if err := os.Remove(filepath.Join(dir, "lock")); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if item := leftovers(t.Context())[0]; item.State != OK {
		t.Errorf("%+v", item)
	}
}

func TestReady(t *testing.T) {
	for _, test := range []struct {
		processes, containers State
		want                  bool
	}{{OK, OK, true}, {OK, Missing, true}, {Missing, OK, true}, {Missing, Missing, false}} {
		items := []Item{{Name: itemRedis, State: OK}, {Name: withProcesses, State: test.processes}, {Name: withContainers, State: test.containers}}
		if got := Ready(items); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}
