package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/client"
	tclog "github.com/testcontainers/testcontainers-go/log"
)

// engineWithin is how long a container engine may take to answer at all.
const engineWithin = 5 * time.Second

// Engine connects to the container engine, the one that DOCKER_HOST names or
// the default one, and checks that it answers. The caller closes it.
func Engine(ctx context.Context) (*client.Client, error) {
	c, err := client.New(client.FromEnv)
	if err != nil {
		return nil, fmt.Errorf("container engine: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, engineWithin)
	defer cancel()
	if _, err := c.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		_ = c.Close()
		return nil, engineError(c.DaemonHost(), err)
	}
	return c, nil
}

// ErrEngineForbidden says that there is an engine and this account may not use it.
var ErrEngineForbidden = errors.New("this account may not use the container engine")

func engineError(host string, err error) error {
	if forbidden(host) {
		return fmt.Errorf("%w: add it to the group docker, or use --provider process", ErrEngineForbidden)
	}
	return &MissingError{What: "a container engine", Get: fmt.Sprintf("apt-get install docker.io and start it, or use --provider process (%v)", err)}
}

// forbidden asks the engine's socket itself, because the client library's error
// says why it failed in words only.
func forbidden(host string) bool {
	socket, ok := strings.CutPrefix(host, "unix://")
	if !ok {
		return false
	}
	conn, err := net.DialTimeout("unix", socket, engineWithin)
	if err == nil {
		_ = conn.Close()
	}
	return errors.Is(err, fs.ErrPermission)
}

// setUpTestcontainers settles what testcontainers reads from its environment,
// once, before its first use. Ryuk, its own cleaner, is off: it would be one
// more image to have, it cannot continue a paused container, and the guardian
// does its work.
var setUpTestcontainers = sync.OnceFunc(func() {
	setDefault("TESTCONTAINERS_RYUK_DISABLED", "true")
	// In a machine that is itself a container it would dial the bridge's gateway.
	setDefault("TESTCONTAINERS_HOST_OVERRIDE", "127.0.0.1")
	tclog.SetDefault(tclog.NewNoopLogger())
})

func setDefault(name, value string) {
	if _, set := os.LookupEnv(name); !set {
		_ = os.Setenv(name, value)
	}
}
