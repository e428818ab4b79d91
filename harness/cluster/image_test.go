package cluster

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/moby/moby/client"

	"github.com/torture-harness/torture/harness/cluster/rootfs"
)

func mustEngine(t *testing.T) *client.Client {
	t.Helper()
	needEngine(t)
	c, err := Engine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestBuildImages(t *testing.T) {
	c := mustEngine(t)
	var logs [2]bytes.Buffer
	var built sync.WaitGroup
	for i := range logs {
		built.Go(func() {
			if err := BuildImages(testContext(t), &logs[i]); err != nil {
				t.Error(err)
			}
		})
	}
	built.Wait()
	if t.Failed() {
		return
	}
	if one, two := logs[0].String(), logs[1].String(); strings.Contains(one, "building") && strings.Contains(two, "building") {
		t.Errorf("built twice:\n%s%s", one, two)
	}
	for _, kind := range Kinds {
		if !strings.Contains(logs[0].String(), repository+string(kind)+":") {
			t.Errorf("the log names no image for %s: %s", kind, &logs[0])
		}
	}
	list, err := c.ImageList(t.Context(), client.ImageListOptions{Filters: make(client.Filters).Add("label", recipeLabel)})
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range list.Items {
		if len(image.RepoTags) == 0 {
			t.Errorf("an image without a name is left: %s", image.ID)
		}
	}
}

// Where Debian's packages cannot be had, images hold what is installed here.
func TestImageFromThisMachine(t *testing.T) {
	c := mustEngine(t)
	_, name, err := hostContent(Redis)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := imageID(t.Context(), c, name); err != nil {
		t.Cleanup(func() { removeImage(t, c, name) })
	}
	b := imageBuilder{engine: c, work: t.TempDir(), say: t.Logf}
	if err := b.buildOne(testContext(t), Redis, ""); err != nil {
		t.Fatal(err)
	}
	spec := newSpec(t)
	spec.Redis = 1
	spec.Images = map[string]string{"redis": name}
	cluster := mustStart(t, NewContainers(), spec)
	mustPut(t, cluster.Redis[0], "k", "v")
	_, installed, err := Installed(t.Context(), Redis)
	if err != nil || cluster.Versions["redis"] != installed {
		t.Errorf("version %s, installed is %s: %v", cluster.Versions["redis"], installed, err)
	}
	if err := cluster.Close(testContext(t)); err != nil {
		t.Error(err)
	}
}

func removeImage(t *testing.T, c *client.Client, name string) {
	t.Helper()
	ctx := testContextAfter(t)
	if _, err := c.ImageRemove(ctx, name, client.ImageRemoveOptions{}); err != nil {
		t.Error(err)
	}
}

func TestOldImagesGo(t *testing.T) {
	c := mustEngine(t)
	const kind = Kind("probe")
	b := imageBuilder{engine: c, say: t.Logf}
	names := []string{imageName(kind, "", "old"), imageName(kind, "", "new")}
	for i, name := range names {
		content := rootfs.Content{Files: map[string]string{"/version": name}}
		if err := b.load(testContext(t), name, "/", content); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			t.Cleanup(func() { removeImage(t, c, name) })
		}
	}
	if err := removeOther(testContext(t), c, kind, names[1:]); err != nil {
		t.Fatal(err)
	}
	if _, err := imageID(t.Context(), c, names[0]); err == nil {
		t.Error("the image of the old recipe is left")
	}
	if _, err := imageID(t.Context(), c, names[1]); err != nil {
		t.Errorf("the image of the new recipe: %v", err)
	}
}

func TestRecipesHaveNames(t *testing.T) {
	before := recipes[Redis]
	defer func() { recipes[Redis] = before }()
	names := []string{recipeName(Redis), recipeName(Etcd), recipeName(Postgres)}
	for _, change := range []func(*recipe){
		func(r *recipe) { r.Version++ },
		func(r *recipe) { r.Packages = []string{"valkey-server"} },
		func(r *recipe) { r.Content.Files = map[string]string{"/etc/passwd": "other"} },
		func(r *recipe) { r.Content.Programs = map[string]string{"/bin/redis-server": "/usr/bin/redis-server"} },
	} {
		changed := before
		change(&changed)
		recipes[Redis] = changed
		names = append(names, recipeName(Redis))
	}
	slices.Sort(names)
	if distinct := slices.Compact(slices.Clone(names)); len(distinct) != len(names) {
		t.Errorf("two recipes have one name: %v", names)
	}
	recipes[Redis] = before
	if one, two := recipeName(Redis), recipeName(Redis); one != two {
		t.Errorf("one recipe has two names: %s, %s", one, two)
	}
}

func TestImageThatIsNotThere(t *testing.T) {
	needEngine(t)
	for _, test := range []struct {
		kind, image, says string
		missing           bool
	}{
		{"redis", repository + "none:1", "the image " + repository + "none:1 is missing", true},
		{"mysql", "mysql", "want redis, etcd or postgres", false},
	} {
		spec := newSpec(t)
		spec.Redis = 1
		spec.Images = map[string]string{test.kind: test.image}
		_, err := NewContainers().Start(testContext(t), spec)
		oneLine(t, err, test.says)
		var missing *MissingError
		if errors.As(err, &missing) != test.missing {
			t.Errorf("%T", err)
		}
	}
}

func TestImportError(t *testing.T) {
	for answer, want := range map[string]string{
		`{"status":"sha256:1"}`:                          "",
		`{"status":"a"}` + "\n" + `{"error":"no space"}`: "no space",
		`{"status":"a"}` + "\n" + `{"status":"sha256:1`:  io.ErrUnexpectedEOF.Error(),
	} {
		err := importError(strings.NewReader(answer))
		if got := errText(err); got != want {
			t.Errorf("%s: %q, want %q", answer, got, want)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestSelect(t *testing.T) {
	ctx := testContext(t)
	if _, _, err := Select(ctx, "vm"); err == nil || !strings.Contains(err.Error(), "want auto, container or process") {
		t.Errorf("vm: %v", err)
	}
	if p, why, err := Select(ctx, "process"); err != nil || p.Name() != "process" || why == "" {
		t.Errorf("process: %v, %q, %v", p, why, err)
	}
	t.Run("engine", func(t *testing.T) {
		needEngine(t)
		for _, name := range []string{"container", "auto"} {
			if p, why, err := Select(ctx, name); err != nil || p.Name() != "container" || why == "" {
				t.Errorf("%s: %v, %q, %v", name, p, why, err)
			}
		}
	})
	t.Run("no engine", func(t *testing.T) {
		t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(t.TempDir(), "none.sock"))
		if p, why, err := Select(ctx, "auto"); err != nil || p.Name() != "process" || !strings.Contains(why, "no container engine") {
			t.Errorf("auto: %v, %q, %v", p, why, err)
		}
		_, _, err := Select(ctx, "container")
		oneLine(t, err, "a container engine is missing", "--provider process")
	})
}
