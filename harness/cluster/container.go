package cluster

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
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
	cluster, err := start(ctx, spec, p.ports, func(context.Context) (host, []string, error) {
		h := &containerHost{engine: c, guardian: spec.Guardian, images: names, runID: spec.RunID}
		// Before the first container can exist.
		var notes []string
		if spec.Etcd > 0 {
			notes = append(notes, "etcd does not wait for the disk ("+etcdNoSync+"): killing it loses nothing, a power failure would")
		}
		return h, notes, spec.Guardian.Containers(spec.Guardian.Label())
	})
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	cluster.Images = ids
	return cluster, nil
}

// containerHost is a set of containers with one label.
type containerHost struct {
	engine   *client.Client
	guardian *guardian.Guardian
	images   map[string]string // kind → name
	runID    string
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
	options := []testcontainers.ContainerCustomizer{
		testcontainers.WithNoStart(),
		testcontainers.WithName("torture-" + h.runID + "-" + m.server.Name),
		testcontainers.WithLabels(map[string]string{guardian.LabelKey: h.runID}),
		testcontainers.WithEntrypoint(entrypoint(l)...),
		testcontainers.WithCmd(l.args...),
		testcontainers.WithEnv(map[string]string{"LC_ALL": "C", "TZ": "UTC"}),
		testcontainers.WithConfigModifier(func(c *container.Config) { c.User = containerUser[m.server.Kind] }),
		testcontainers.WithHostConfigModifier(func(c *container.HostConfig) { restrict(c); keepData(m.server.Kind, c) }),
	}
	for name, text := range l.files {
		options = append(options, testcontainers.WithFiles(testcontainers.ContainerFile{
			Reader:            strings.NewReader(text),
			ContainerFilePath: path.Join(folder, name),
			FileMode:          0o644,
		}))
	}
	created, err := testcontainers.Run(ctx, h.images[string(m.server.Kind)], options...)
	if err != nil {
		return nil, err
	}
	return &containerBody{engine: h.engine, id: created.GetContainerID(), log: m.server.Log}, nil
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

// keepData gives servers that keep data a volume without a name for it: the file
// system of a container itself is slow to sync. It goes with the container.
func keepData(kind Kind, c *container.HostConfig) {
	if kind == Etcd || kind == Postgres {
		c.Mounts = append(c.Mounts, mount.Mount{Type: mount.TypeVolume, Target: folder})
	}
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

// close removes all containers, paused ones included.
func (h *containerHost) close(ctx context.Context) error {
	err := h.guardian.RemoveContainers(ctx)
	if err != nil {
		err = fmt.Errorf("remove the containers of run %s: %w", h.runID, err)
	}
	return errors.Join(err, h.engine.Close())
}
