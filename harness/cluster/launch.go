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
	keeps   bool              // data, over its restarts
	shares  bool              // memory that stays when it is killed
}

// member is one server as it is planned: the public side and how to launch it.
type member struct {
	server *Server
	launch func(dir string) launch
	clock  bool // wants a wall clock of its own
}

// plan lays out all servers of spec. ps are as many ports as portsOf says.
func plan(spec Spec, ps []*port) []*member {
	var all []*member
	take := func() *port { p := ps[0]; ps = ps[1:]; return p }
	redis := func(base string, master *Server) *Server {
		s := &Server{Name: spec.serverName(base), Kind: Redis, Password: secret(), port: take(), master: master, probe: probeRedis}
		all = append(all, &member{s, func(dir string) launch { return redisLaunch(s, dir, spec.RedisDurable) }, spec.RedisClock})
		return s
	}
	var first *Server
	for i := range spec.Redis {
		s := redis(fmt.Sprintf("redis-%d", i+1), nil)
		if i == 0 {
			first = s
		}
	}
	if spec.RedisReplica {
		redis("redis-replica", first)
	}
	group := &etcdGroup{token: secret(), name: spec.RunID + "-" + spec.serverName("etcd")}
	for range spec.Etcd {
		group.clients = append(group.clients, take())
		group.peers = append(group.peers, take())
	}
	for i := range spec.Etcd {
		s := &Server{Name: fmt.Sprintf("%s-%d", spec.serverName("etcd"), i+1), Kind: Etcd, port: group.clients[i], etcd: &etcdMember{group, i}}
		s.probe = s.etcd.probe
		all = append(all, &member{s, s.etcd.launch, false})
	}
	if spec.Postgres {
		s := &Server{Name: spec.serverName("postgres"), Kind: Postgres, User: superuser, Password: secret(), port: take(), probe: probePostgres}
		all = append(all, &member{s, func(dir string) launch { return postgresLaunch(s, dir, spec) }, false})
	}
	for _, m := range all {
		m.server.Addr = m.server.port.addr()
	}
	return all
}

func portsOf(spec Spec) int {
	n := spec.Redis + 2*spec.Etcd
	if spec.RedisReplica {
		n++
	}
	if spec.Postgres {
		n++
	}
	return n
}

// secret is a random password.
func secret() string { return strings.ToLower(rand.Text()) }

func itoa(n int) string { return strconv.Itoa(n) }
