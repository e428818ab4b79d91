package claims

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/wire"
)

// Refuse has connections of the actor to these Redis servers (from 0) refused
// from now on. It must be wired.
func (a *Actor) Refuse(nodes ...int) {
	for _, i := range nodes {
		a.stage.must(a.Wires.Redis[i].Close(), "refuse connections")
	}
}

// HoldYes keeps the OK with which these servers answer the actor's SETs, and
// all behind it, on the connections that the actor has. What it asks over a new
// one is answered.
func (a *Actor) HoldYes(nodes ...int) {
	for _, i := range nodes {
		p := a.Wires.Redis[i]
		p.HoldReplies(wire.Only(p.Conns()...), wire.Containing("+OK"))
	}
}

// AwaitHeldReplies waits until a reply of each of these servers is held: the
// request has been executed, and the actor does not know.
func (a *Actor) AwaitHeldReplies(nodes ...int) {
	ctx, cancel := a.stage.Context()
	defer cancel()
	for _, i := range nodes {
		if _, err := a.Wires.Redis[i].AwaitHeldReplies(ctx, 1); err != nil {
			a.stage.impossible("%v", err)
		}
	}
}

// LetReplies lets the actor have what was held.
func (a *Actor) LetReplies(nodes ...int) {
	for _, i := range nodes {
		a.Wires.Redis[i].Release()
	}
}

// silent stands for the value of a server that does not answer, or cannot.
const silent = "?"

// Values is what each server of the lock has for a resource: "" if it has no
// such key.
func (s *Stage) Values(ctx context.Context, resource string) []string {
	values := make([]string, s.strategy.Locker.Needs.Redis)
	for i := range values {
		if s.Servers.Cluster.Redis[i].State() != cluster.Running {
			values[i] = silent
			continue
		}
		value, err := s.Servers.Redis(i).Get(ctx, s.Key(resource)).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			value = silent
		}
		values[i] = value
	}
	return values
}

func (s *Stage) valuesOf(resource string) []string {
	ctx, cancel := s.Context()
	defer cancel()
	return s.Values(ctx, resource)
}

// Having counts the servers that have a value for a resource.
func (s *Stage) Having(resource, value string) int {
	n := 0
	for _, v := range s.valuesOf(resource) {
		if v == value {
			n++
		}
	}
	return n
}

// AwaitFree waits until so many servers have no key for a resource.
func (s *Stage) AwaitFree(resource string, nodes int) {
	s.Await(fmt.Sprintf("%d servers without the key", nodes), func(context.Context) bool { return s.Having(resource, "") >= nodes })
}

// AwaitTaken waits until the key of a resource has one value on so many servers,
// and returns it.
func (s *Stage) AwaitTaken(resource string, nodes int) (value string) {
	s.Await(fmt.Sprintf("the key on %d servers", nodes), func(ctx context.Context) bool {
		value = ""
		found := 0
		for _, v := range s.Values(ctx, resource) {
			if v != "" && v != silent && (value == "" || v == value) {
				value = v
				found++
			}
		}
		return found >= nodes
	})
	return value
}

// info is one field of a server's INFO; "" if it does not answer.
func (s *Stage) info(node int, field string) string {
	ctx, cancel := s.Context()
	defer cancel()
	info, err := s.Servers.Redis(node).Info(ctx).Result()
	if err != nil {
		return ""
	}
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), field+":"); ok {
			return value
		}
	}
	return ""
}

// ProveIndependent: the servers of the lock are several masters, and none of
// them has a replica.
func (s *Stage) ProveIndependent() {
	runs, alone := map[string]bool{}, true
	nodes := s.strategy.Locker.Needs.Redis
	for i := range nodes {
		runs[s.info(i, "run_id")] = true
		alone = alone && s.info(i, "role") == "master" && s.info(i, "connected_slaves") == "0"
	}
	s.Prove(len(runs) == nodes && !runs[""] && alone, "the servers are independent masters without replicas", "%d run_ids", len(runs))
}

// isSet is the SET of a value for a resource; any value, if none is given.
func (s *Stage) isSet(resource, value string) func(Command) bool {
	return func(c Command) bool {
		return c.Is("set") && len(c.Args) > 2 && c.Args[1] == s.Key(resource) && (value == "" || c.Args[2] == value)
	}
}

// isRelease is the compare-and-delete of a value.
func isRelease(value string) func(Command) bool {
	return func(c Command) bool { return (c.Is("eval") || c.Is("evalsha")) && c.Has(value) }
}

// executedOn counts the servers that have executed a command.
func executedOn(nodes []*Monitor, match func(Command) bool) int {
	n := 0
	for _, m := range nodes {
		m.Catch()
		if len(m.Seen(match)) > 0 {
			n++
		}
	}
	return n
}

// stopServer stops a server, and returns the name of that fault.
func (s *Stage) stopServer(server *cluster.Server, detail string) (id string) {
	ctx, cancel := s.Context()
	defer cancel()
	s.must(server.Stop(ctx), "stop "+server.Name)
	id = s.FaultID("stop-server")
	s.Fault(id, "stop-server", history.Stopped, server.Name, detail)
	s.Say("%s was stopped", server.Name)
	return id
}

// StopServer stops a server of the case's own where it stands, for the rest of
// the case: it is not recorded as healed.
func (s *Stage) StopServer(server *cluster.Server) {
	s.stopServer(server, "for the rest of the case")
	s.Heal(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = server.Continue(ctx) // or it is killed with the others
	})
}

// takesThree has an actor acquire on the first three of five servers, because
// the others refuse it, and read.
func (s *Stage) takesThree(name string) *Actor {
	a := s.Parts(Part{Name: name, Wired: true})[0]
	a.Refuse(3, 4)
	a.Acquire()
	a.Enter()
	ctx, cancel := s.Context()
	defer cancel()
	values, mine := s.Values(ctx, a.Resource), a.Lease().Value
	three := true
	for i, v := range values {
		three = three && (v == mine) == (i < 3)
	}
	s.Prove(three, name+" held servers 1, 2 and 3 and no other", "%d have its value", s.Having(a.Resource, mine))
	return a
}

// second starts B. Its lease is short, because it looks at a lock that is held
// every so many parts of that, and shall have been refused some times in A's.
func (s *Stage) second() *Actor {
	return s.Parts(Part{Name: "B", TTL: min(s.TTL, 2*time.Second)})[0]
}
