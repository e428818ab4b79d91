package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// official are the images that the makers publish, pinned.
var official = map[Kind]string{
	Redis:    "redis:8.0.2",
	Etcd:     "gcr.io/etcd-development/etcd:v" + etcdRelease,
	Postgres: "postgres:17.5",
}

// pullBegins is how long a registry may take to begin to answer. A machine
// without one must not wait long to find out.
const pullBegins = 8 * time.Second

// findImages finds the image of every kind that spec wants: the one asked for;
// else the official one if it is here; else the one built here; else the
// official one pulled; else one built now. It returns what to run and its id, by
// kind.
func findImages(ctx context.Context, c *client.Client, spec Spec) (names, ids map[string]string, err error) {
	names, ids = map[string]string{}, map[string]string{}
	var absent []Kind
	for _, kind := range spec.kinds() {
		name := spec.Images[string(kind)]
		if name != "" {
			if err := have(ctx, c, name); err != nil {
				return nil, nil, err
			}
		} else {
			name, _ = localImage(ctx, c, kind)
		}
		if name == "" {
			absent = append(absent, kind)
		}
		names[string(kind)] = name
	}
	if err := getImages(ctx, c, absent, spec.say); err != nil {
		return nil, nil, err
	}
	for _, kind := range spec.kinds() {
		if names[string(kind)] == "" {
			names[string(kind)], _ = localImage(ctx, c, kind)
		}
		if ids[string(kind)], err = imageID(ctx, c, names[string(kind)]); err != nil {
			return nil, nil, err
		}
	}
	return names, ids, nil
}

// getImages pulls the official images of kinds, or builds those that cannot be
// pulled.
func getImages(ctx context.Context, c *client.Client, kinds []Kind, say func(string, ...any)) error {
	var toBuild []Kind
	for _, kind := range kinds {
		if registryAnswers(ctx, c, official[kind]) {
			say("pulling %s", official[kind])
			if pull(ctx, c, official[kind]) == nil {
				continue
			}
		}
		toBuild = append(toBuild, kind)
	}
	return buildImages(ctx, c, toBuild, say)
}

// localImage is an image that needs no registry: the official one if somebody
// has pulled it, else the one built here by the present recipe.
func localImage(ctx context.Context, c *client.Client, kind Kind) (string, bool) {
	for _, name := range append([]string{official[kind]}, builtNames(kind)...) {
		if _, err := imageID(ctx, c, name); err == nil {
			return name, true
		}
	}
	return "", false
}

// have makes sure that the image name is here.
func have(ctx context.Context, c *client.Client, name string) error {
	_, err := imageID(ctx, c, name)
	if errdefs.IsNotFound(err) {
		err = pull(ctx, c, name)
	}
	return err
}

func imageID(ctx context.Context, c *client.Client, name string) (string, error) {
	image, err := c.ImageInspect(ctx, name)
	if err != nil {
		return "", fmt.Errorf("look at image %s: %w", name, err)
	}
	if len(image.RepoDigests) > 0 {
		return image.RepoDigests[0], nil
	}
	return image.ID, nil
}

var registry struct {
	sync.Mutex
	silent bool
}

// registryAnswers tries to pull name and says whether the registry began to
// answer. A no is remembered as long as this process lives.
func registryAnswers(ctx context.Context, c *client.Client, name string) bool {
	registry.Lock()
	defer registry.Unlock()
	if registry.silent {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, pullBegins)
	defer cancel()
	answer, err := c.ImagePull(ctx, name, client.ImagePullOptions{})
	if err != nil {
		registry.silent = true
		return false
	}
	_ = answer.Close() // ends this try; pull does the work, without the time limit
	return true
}

func pull(ctx context.Context, c *client.Client, name string) error {
	answer, err := c.ImagePull(ctx, name, client.ImagePullOptions{})
	if err == nil {
		err = errors.Join(answer.Wait(ctx), answer.Close())
	}
	if err != nil {
		return &MissingError{What: "the image " + name, Get: fmt.Sprintf("it cannot be pulled (%v)", err)}
	}
	return nil
}
