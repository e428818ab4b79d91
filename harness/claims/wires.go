package claims

import (
	"strings"

	"github.com/torture-harness/torture/harness/wire"
	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/lock"
)

// Wires are the proxies between one actor and its servers.
type Wires struct {
	Redis    []*wire.Proxy
	Etcd     []*wire.Proxy
	Postgres *wire.Proxy
}

// string puts proxies between the actor and the servers.
func (w *Wires) string(places workloads.Places) (workloads.Places, error) {
	for i, s := range places.Redis {
		p, err := wire.Listen(s.Addr)
		if err != nil {
			return places, err
		}
		w.Redis = append(w.Redis, p)
		if i == 0 {
			places.Redis = append([]lock.Server(nil), places.Redis...)
		}
		places.Redis[i].Addr = p.Addr()
	}
	endpoints := places.Etcd
	places.Etcd = nil
	for _, endpoint := range endpoints {
		p, err := wire.Listen(strings.TrimPrefix(endpoint, "http://"))
		if err != nil {
			return places, err
		}
		w.Etcd = append(w.Etcd, p)
		places.Etcd = append(places.Etcd, "http://"+p.Addr())
	}
	var err error
	w.Postgres, places.Postgres, err = wire.ListenFor(places.Postgres)
	return places, err
}

func (w *Wires) all() []*wire.Proxy {
	all := append(append([]*wire.Proxy(nil), w.Redis...), w.Etcd...)
	if w.Postgres != nil {
		all = append(all, w.Postgres)
	}
	return all
}

// HoldRequests keeps whatever the actor sends to these servers from now on.
func (s *Stage) HoldRequests(proxies ...*wire.Proxy) {
	for _, p := range proxies {
		p.HoldRequests()
	}
}

// AwaitHeld waits until every one of these proxies holds a request.
func (s *Stage) AwaitHeld(proxies ...*wire.Proxy) {
	ctx, cancel := s.Context()
	defer cancel()
	for _, p := range proxies {
		if _, err := p.AwaitHeld(ctx, 1); err != nil {
			s.impossible("%v", err)
		}
	}
	s.Say("a request is held in the network")
}

// LetThrough forwards what is held, and holds no more.
func (s *Stage) LetThrough(proxies ...*wire.Proxy) {
	for _, p := range proxies {
		p.Release()
	}
	s.Say("it is let through")
}
