// Package cluster starts real servers: independent Redis masters, an etcd
// cluster, a PostgreSQL. A Provider decides what they run in; whatever it is,
// they listen on 127.0.0.1 only, on ports of their own, want passwords made up
// for this run (etcd excepted, which has no simple ones), and each can be
// stopped, continued, killed and restarted.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"sync"

	"github.com/torture-harness/torture/harness/guardian"
)

// Spec says which servers are wanted.
type Spec struct {
	Name string // optional; in the names of everything, so that a run can have several clusters

	Redis        int  // independent masters
	RedisDurable bool // every write is on disk before its answer (appendonly, appendfsync always)
	RedisReplica bool // the first master has a replica
	RedisClock   bool // every Redis has a wall clock of its own, for MoveClock; wants a C compiler
	Etcd         int  // members of one cluster; odd

	Postgres         bool              //
	MaxConnections   int               // of PostgreSQL; 0 for its default
	PostgresSettings map[string]string // win over our own: wal_writer_delay → 10s

	Images   map[string]string  // server kind → image to use instead of the default; containers only
	Dir      string             // run folder; logs go to Dir/logs
	RunID    string             // in the names of everything
	Guardian *guardian.Guardian // is told of everything that is started
	Log      io.Writer          // one line for what takes long (builds); may be nil
}

// Kind is what a server is.
type Kind string

// The kinds of servers.
const (
	Redis    Kind = "redis"
	Etcd     Kind = "etcd"
	Postgres Kind = "postgres"
)

// Provider starts servers in one way.
type Provider interface {
	// Name is process or container.
	Name() string
	// Start returns once a write has succeeded on every server (every member,
	// for etcd). When it fails, nothing that it started is left. A *MissingError
	// says that something must be installed first.
	Start(ctx context.Context, spec Spec) (*Cluster, error)
}

// Cluster is a set of running servers.
type Cluster struct {
	Redis    []*Server         // the masters
	Replica  *Server           // of Redis[0]; nil if there is none
	Etcd     []*Server         //
	Postgres *Server           // nil if there is none
	Versions map[string]string // kind → version, as the server itself says
	Images   map[string]string // kind → digest or id of its image; empty without containers
	Notes    []string          // what a reader of the results should know, one line each

	failed  chan error
	closing sync.Once
	close   func(context.Context) error
	err     error // of close
}

// Servers lists all of them.
func (c *Cluster) Servers() []*Server {
	all := slices.Clone(c.Redis)
	if c.Replica != nil {
		all = append(all, c.Replica)
	}
	all = append(all, c.Etcd...)
	if c.Postgres != nil {
		all = append(all, c.Postgres)
	}
	return all
}

// EtcdEndpoints are the client addresses of all members.
func (c *Cluster) EtcdEndpoints() []string {
	var endpoints []string
	for _, s := range c.Etcd {
		endpoints = append(endpoints, "http://"+s.Addr)
	}
	return endpoints
}

// PostgresDSN is the connection string of the database, password included; ""
// if there is none.
func (c *Cluster) PostgresDSN() string {
	if c.Postgres == nil {
		return ""
	}
	return c.Postgres.dsn(database)
}

// Failed delivers an error for every server that ended although nobody killed
// it.
func (c *Cluster) Failed() <-chan error { return c.failed }

// Close continues, ends and removes all servers and everything of theirs,
// whatever state they are in. Later calls return what the first one did.
func (c *Cluster) Close(ctx context.Context) error {
	c.closing.Do(func() { c.err = c.close(ctx) })
	return c.err
}

// MissingError says that something must be installed before servers can be
// started.
type MissingError struct {
	What string // "redis-server"
	Get  string // "apt-get install redis-server"
}

func (e *MissingError) Error() string { return fmt.Sprintf("%s is missing: %s", e.What, e.Get) }

// kinds lists the kinds of servers that spec asks for.
func (spec Spec) kinds() []Kind {
	var kinds []Kind
	if spec.Redis > 0 {
		kinds = append(kinds, Redis)
	}
	if spec.Etcd > 0 {
		kinds = append(kinds, Etcd)
	}
	if spec.Postgres {
		kinds = append(kinds, Postgres)
	}
	return kinds
}

func (spec Spec) check() error {
	switch {
	case spec.Guardian == nil:
		return errors.New("servers need a guardian")
	case spec.Guardian.RunID() != spec.RunID:
		return fmt.Errorf("the guardian is of run %q, not %q", spec.Guardian.RunID(), spec.RunID)
	case spec.Dir == "":
		return errors.New("servers need a folder for their logs")
	case len(spec.kinds()) == 0:
		return errors.New("no server is asked for")
	case spec.Name != "" && !validName.MatchString(spec.Name):
		return fmt.Errorf("cluster name %q: want at most 20 small letters, digits and dashes", spec.Name)
	case spec.RedisReplica && spec.Redis == 0:
		return errors.New("a Redis replica needs a master")
	}
	for _, name := range fixedSettings {
		if _, set := spec.PostgresSettings[name]; set {
			return fmt.Errorf("the PostgreSQL setting %s cannot be chosen: where it listens is settled", name)
		}
	}
	for kind := range maps.Keys(spec.Images) {
		if !slices.Contains(Kinds, Kind(kind)) {
			return fmt.Errorf("image for %q: want redis, etcd or postgres", kind)
		}
	}
	return nil
}

var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,19}$`)

// serverName is the name of a server in this cluster.
func (spec Spec) serverName(base string) string {
	if spec.Name == "" {
		return base
	}
	return spec.Name + "-" + base
}

func (spec Spec) say(format string, args ...any) {
	if spec.Log != nil {
		fmt.Fprintf(spec.Log, format+"\n", args...)
	}
}

// The database and its superuser.
const (
	database  = "torture"
	superuser = "torture"
)

// dsn turns off what would surprise: TLS, which the server has not.
func (s *Server) dsn(db string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(s.User, s.Password),
		Host:     s.Addr,
		Path:     "/" + db,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}
