package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/moby/client"

	"github.com/torture-harness/torture/harness/cluster/rootfs"
)

// BuildImages makes the images for all kinds that have none of the present
// recipe, and removes those of earlier recipes. log gets a line per step.
func BuildImages(ctx context.Context, log io.Writer) error {
	c, err := Engine(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	say := func(format string, args ...any) { fmt.Fprintf(log, format+"\n", args...) }
	if err := buildImages(ctx, c, Kinds, say); err != nil {
		return err
	}
	for _, kind := range Kinds {
		if name, ok := builtImage(ctx, c, kind); ok {
			say("%s", name)
		}
	}
	return nil
}

// buildImages makes what is missing. Two at once: the second waits for the
// first and finds its work done. What a dead one left is removed by the next.
func buildImages(ctx context.Context, c *client.Client, kinds []Kind, say func(string, ...any)) error {
	if len(kinds) == 0 {
		return nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("build images: %w", err)
	}
	folder := filepath.Join(cache, "torture", "images")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("build images: %w", err)
	}
	lock, err := lockFile(ctx, filepath.Join(folder, "lock"))
	if err != nil {
		return fmt.Errorf("build images: %w", err)
	}
	defer lock.Close()
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind Kind) bool {
		_, there := builtImage(ctx, c, kind)
		return there
	})
	if len(kinds) == 0 {
		return nil
	}
	b := imageBuilder{engine: c, work: filepath.Join(folder, "build"), say: say}
	if err := os.RemoveAll(b.work); err != nil {
		return fmt.Errorf("build images: %w", err)
	}
	defer os.RemoveAll(b.work)
	if err := b.build(ctx, kinds); err != nil {
		return fmt.Errorf("build images: %w", err)
	}
	return nil
}

type imageBuilder struct {
	engine *client.Client
	work   string
	say    func(string, ...any)
}

func (b *imageBuilder) build(ctx context.Context, kinds []Kind) error {
	var packages []string
	for _, kind := range kinds {
		packages = append(packages, recipes[kind].Packages...)
	}
	var tree rootfs.Tree
	if len(packages) > 0 {
		var err error
		b.say("building images for %v from the packages of Debian %s", kinds, rootfs.Release)
		if err := os.MkdirAll(b.work, 0o755); err != nil {
			return err
		}
		if tree, err = rootfs.Fetch(ctx, b.work, packages); err != nil {
			if ctx.Err() != nil {
				return err
			}
			b.say("not from Debian %s (%v); from what is installed here instead", rootfs.Release, err)
		}
	}
	for _, kind := range kinds {
		if err := b.buildOne(ctx, kind, tree); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	return nil
}

// buildOne makes one image, from tree, or from this machine if there is none.
func (b *imageBuilder) buildOne(ctx context.Context, kind Kind, tree rootfs.Tree) error {
	content, name := recipes[kind].Content, recipeName(kind)
	switch {
	case recipes[kind].Built:
		programs, err := etcdForImage(ctx, b.say)
		if err != nil {
			return err
		}
		content.Programs = programs
		tree = "/"
	case tree == "":
		var err error
		if content, name, err = hostContent(kind); err != nil {
			return err
		}
		tree = "/"
	}
	if err := b.load(ctx, name, tree, content); err != nil {
		return err
	}
	return removeOther(ctx, b.engine, kind, builtNames(kind))
}

// etcdForImage maps where etcd's programs are in an image to where they are here.
func etcdForImage(ctx context.Context, say func(string, ...any)) (map[string]string, error) {
	etcd, err := findEtcd(ctx, say)
	if err != nil {
		return nil, err
	}
	programs := map[string]string{}
	for name, path := range map[string]string{"etcd": etcd, "etcdutl": findEtcdutl(etcd)} {
		if path == "" {
			continue
		}
		if programs["/usr/bin/"+name], err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
	}
	return programs, nil
}

// load streams the file system into the engine.
func (b *imageBuilder) load(ctx context.Context, name string, tree rootfs.Tree, content rootfs.Content) error {
	archive, w := io.Pipe()
	go func() { w.CloseWithError(rootfs.Pack(w, tree, content)) }()
	defer archive.Close()
	_, tag, _ := strings.Cut(name, ":")
	answer, err := b.engine.ImageImport(ctx, client.ImageImportSource{Source: archive, SourceName: "-"}, name, client.ImageImportOptions{
		Message: "built by torture",
		Changes: []string{
			"LABEL " + recipeLabel + "=" + tag,
			"ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		},
	})
	if err != nil {
		return err
	}
	defer answer.Close()
	if err := importError(answer); err != nil {
		return err
	}
	_, err = imageID(ctx, b.engine, name)
	return err
}

// importError reads the engine's answer, a stream of JSON objects, to its end.
func importError(answer io.Reader) error {
	for messages := json.NewDecoder(answer); ; {
		var message struct{ Error string }
		err := messages.Decode(&message)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if message.Error != "" {
			return errors.New(message.Error)
		}
	}
}

func builtImage(ctx context.Context, c *client.Client, kind Kind) (string, bool) {
	for _, name := range builtNames(kind) {
		if _, err := imageID(ctx, c, name); err == nil {
			return name, true
		}
	}
	return "", false
}

// removeOther removes images of a kind that were built by other recipes. One
// that is in use stays until the next time.
func removeOther(ctx context.Context, c *client.Client, kind Kind, keep []string) error {
	list, err := c.ImageList(ctx, client.ImageListOptions{Filters: make(client.Filters).Add("reference", repository+string(kind))})
	if err != nil {
		return err
	}
	for _, image := range list.Items {
		for _, tag := range image.RepoTags {
			if !slices.Contains(keep, tag) {
				_, _ = c.ImageRemove(ctx, tag, client.ImageRemoveOptions{})
			}
		}
	}
	return nil
}

// RemoveImages removes all images that were built here.
func RemoveImages(ctx context.Context, log io.Writer) error {
	c, err := Engine(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := c.ImageList(ctx, client.ImageListOptions{Filters: make(client.Filters).Add("label", recipeLabel)})
	if err != nil {
		return fmt.Errorf("list the images: %w", err)
	}
	var errs []error
	for _, image := range list.Items {
		for _, tag := range image.RepoTags {
			_, err := c.ImageRemove(ctx, tag, client.ImageRemoveOptions{})
			fmt.Fprintf(log, "removed %s\n", tag)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
