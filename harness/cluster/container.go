package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"

	"github.com/torture-harness/torture/harness/guardian"
)

// Containers is the provider that runs every server in a container of its own.
type Containers struct {
	ports ports
}

// NewContainers returns the provider of containers.
func NewContainers() *Containers { return &Containers{ports: freePorts} }

// Name implements Provider.
func (*Containers) Name() string { return "container" }

// Start implements Provider. Images that are not here are pulled or built.
func (p *Containers) Start(ctx context.Context, spec Spec) (*Cluster, error) {
	setUpTestcontainers()
	c, err := Engine(ctx)
	if err != nil {
		return nil, err
	}
	names, ids, err := findImages(ctx, c, spec)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	lib, err := spec.clockLibrary(ctx)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	cluster, err := start(ctx, spec, p.ports, func(ctx context.Context) (host, []string, error) {
		return newContainerHost(ctx, spec, c, names, lib)
	})
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	cluster.Images = ids
	return cluster, nil
}

// containerHost is a set of containers with one label of their own, besides the
// run's, which other sets share.
type containerHost struct {
	engine   *client.Client
	guardian *guardian.Guardian
	images   map[string]string // kind → name
	runID    string
	set      string // value of setLabel
	clocks   string // folder of the servers' wall clocks; "" without
	clockLib string // path of the preloaded clock
}

// setLabel is the key of the label that tells sets of containers apart.
const setLabel = "torture.cluster"

func newContainerHost(ctx context.Context, spec Spec, c *client.Client, images map[string]string, clockLib string) (host, []string, error) {
	h := &containerHost{engine: c, guardian: spec.Guardian, images: images, runID: spec.RunID, set: secret(), clockLib: clockLib}
	var notes []string
	if spec.Etcd > 0 {
		notes = append(notes, "etcd does not wait for the disk ("+etcdNoSync+"): killing it loses nothing, a power failure would")
	}
	// Before the first container can exist.
	if err := h.guardian.Containers(h.guardian.Label()); err != nil {
		return nil, nil, err
	}
	if spec.RedisClock {
		var err error
		if h.clocks, err = h.guardian.TempDir(os.TempDir()); err != nil {
			return nil, nil, errors.Join(err, h.remove(context.WithoutCancel(ctx)))
		}
	}
	return h, notes, nil
}

const etcdNoSync = "--unsafe-no-fsync"

// folder is the only one that servers write to. It is part of the container,
// so it stays as long as that does, and goes with it.
const folder = "/tmp"

// body creates the container of a server and leaves it to be started.
func (h *containerHost) body(ctx context.Context, m *member) (body, error) {
	l := m.launch(folder)
	if m.server.Kind == Etcd {
		// Three members on one disk would spend their time waiting for it. As
		// local processes they keep their data in memory, which comes to the same.
		l.args = append(l.args, etcdNoSync)
	}
	b := &containerBody{host: h, engine: h.engine, kind: m.server.Kind, name: m.server.Name, log: m.server.Log, launch: l}
	if m.clock {
		var err error
		if b.clock, err = newClock(h.clocks, m.server.Name, h.clockLib); err != nil {
			return nil, err
		}
		m.server.clock = b.clock
	}
	return b, b.create(ctx)
}

// container creates one for a launch of a server of kind, and does not start it.
func (h *containerHost) container(ctx context.Context, kind Kind, name string, l launch, env []string, configure func(*container.HostConfig)) (testcontainers.Container, error) {
	variables := map[string]string{"LC_ALL": "C", "TZ": "UTC"}
	for _, one := range env {
		key, value, _ := strings.Cut(one, "=")
		variables[key] = value
	}
	options := []testcontainers.ContainerCustomizer{
		testcontainers.WithNoStart(),
		testcontainers.WithName("torture-" + h.runID + "-" + name),
		testcontainers.WithLabels(map[string]string{guardian.LabelKey: h.runID, setLabel: h.set}),
		testcontainers.WithEntrypoint(entrypoint(l)...),
		testcontainers.WithCmd(l.args...),
		testcontainers.WithEnv(variables),
		testcontainers.WithConfigModifier(func(c *container.Config) { c.User = containerUser[kind] }),
		testcontainers.WithHostConfigModifier(func(c *container.HostConfig) { restrict(c); configure(c) }),
	}
	for name, text := range l.files {
		options = append(options, testcontainers.WithFiles(testcontainers.ContainerFile{
			Reader:            strings.NewReader(text),
			ContainerFilePath: path.Join(folder, name),
			FileMode:          0o644,
		}))
	}
	return testcontainers.Run(ctx, h.images[string(kind)], options...)
}

// containerUser is whom a server runs as: never root, and PostgreSQL only as
// somebody whom the image knows by name.
var containerUser = map[Kind]string{Redis: "65534:65534", Etcd: "65534:65534", Postgres: "postgres"}

// restrict puts a container on the host's network, where its server binds to
// 127.0.0.1 and a free port by itself: nothing is published, and no proxy costs
// time. It needs no privilege.
func restrict(c *container.HostConfig) {
	c.NetworkMode = "host"
	c.CapDrop = []string{"ALL"}
	c.SecurityOpt = []string{"no-new-privileges"}
}

// entrypoint runs the program, after its preparation when there is one and it
// has not been done. PostgreSQL's programs are on no PATH in Debian's layout.
func entrypoint(l launch) []string {
	if l.prepare == nil {
		return []string{l.program}
	}
	script := []string{
		"set -e",
		`for d in /usr/lib/postgresql/*/bin; do PATH="$PATH:$d"; done`,
		"[ -e " + path.Join(folder, "prepared") + " ] || {",
		quoted(l.prepare.program, l.prepare.args),
		": > " + path.Join(folder, "prepared"),
		"}",
		"exec " + l.program + ` "$@"`,
	}
	return []string{"sh", "-c", strings.Join(script, "\n"), l.program}
}

func quoted(program string, args []string) string {
	words := []string{program}
	for _, arg := range args {
		words = append(words, "'"+strings.ReplaceAll(arg, "'", `'\''`)+"'")
	}
	return strings.Join(words, " ")
}

// close removes all containers of this set, paused ones included.
func (h *containerHost) close(ctx context.Context) error {
	return errors.Join(h.remove(ctx), h.engine.Close())
}

func (h *containerHost) remove(ctx context.Context) error {
	err := h.guardian.RemoveContainers(ctx, setLabel+"="+h.set)
	if err != nil {
		err = fmt.Errorf("remove the containers of run %s: %w", h.runID, err)
	}
	if h.clocks != "" {
		err = errors.Join(err, h.guardian.RemoveDirectory(ctx, h.clocks))
	}
	return err
}
