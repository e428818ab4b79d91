package cluster

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
)

// launch is how a server is run, whatever it runs in. All paths are below the
// one folder that it may write to.
type launch struct {
	program string            // name of the executable
	args    []string          //
	prepare *launch           // run once to its end, before the first start
	files   map[string]string // name in the folder → content, put there before anything is run
}

// member is one server as it is planned: the public side and how to launch it.
type member struct {
	server *Server
	launch func(dir string) launch
}

// plan lays out all servers of spec. ps are as many ports as portsOf says.
func plan(spec Spec, ps []*port) []*member {
	var all []*member
	take := func() *port { p := ps[0]; ps = ps[1:]; return p }
	for i := range spec.Redis {
		s := &Server{Name: fmt.Sprintf("redis-%d", i+1), Kind: Redis, Password: secret(), port: take(), probe: probeRedis}
		all = append(all, &member{s, func(dir string) launch { return redisLaunch(s, dir) }})
	}
	group := etcdGroup{token: secret(), name: spec.RunID}
	for range spec.Etcd {
		group.clients = append(group.clients, take())
		group.peers = append(group.peers, take())
	}
	for i := range spec.Etcd {
		s := &Server{Name: fmt.Sprintf("etcd-%d", i+1), Kind: Etcd, port: group.clients[i], probe: group.probe(i)}
		all = append(all, &member{s, func(dir string) launch { return group.launch(i, dir) }})
	}
	if spec.Postgres {
		s := &Server{Name: "postgres", Kind: Postgres, User: superuser, Password: secret(), port: take(), probe: probePostgres}
		all = append(all, &member{s, func(dir string) launch { return postgresLaunch(s, dir, spec.MaxConnections) }})
	}
	for _, m := range all {
		m.server.Addr = m.server.port.addr()
	}
	return all
}

func portsOf(spec Spec) int {
	n := spec.Redis + 2*spec.Etcd
	if spec.Postgres {
		n++
	}
	return n
}

// secret is a random password.
func secret() string { return strings.ToLower(rand.Text()) }

func itoa(n int) string { return strconv.Itoa(n) }
