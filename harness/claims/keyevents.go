package claims

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// KeyEvents has what happened to one key in one Redis: set, expired, del
// (https://redis.io/docs/latest/develop/pubsub/keyspace-notifications/). A SET NX
// that was refused is no event.
type KeyEvents struct {
	mu    sync.Mutex
	names []string
}

// KeyEvents begins to watch the lock's key of a resource in the i-th Redis until
// the end of the case.
func (s *Stage) KeyEvents(i int, resource string) *KeyEvents {
	ctx, cancel := s.Context()
	defer cancel()
	client := s.Servers.Redis(i)
	s.must(client.ConfigSet(ctx, "notify-keyspace-events", "KEA").Err(), "have a Redis tell of its keys")
	subscription := client.Subscribe(ctx, fmt.Sprintf("__keyspace@0__:%s", s.Key(resource)))
	s.Heal(func() { _ = subscription.Close() })
	_, err := subscription.Receive(ctx) // nothing is missed from here on
	s.must(err, "have a Redis tell of its keys")
	e := &KeyEvents{}
	go func() {
		for {
			m, err := subscription.Receive(s.ctx)
			if err != nil {
				return
			}
			if m, ok := m.(*redis.Message); ok {
				e.mu.Lock()
				e.names = append(e.names, m.Payload)
				e.mu.Unlock()
			}
		}
	}()
	return e
}

// Story is what happened so far: "set expired set del". What belongs to a set
// (expire) is left out.
func (e *KeyEvents) Story() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var story []string
	for _, n := range e.names {
		switch n {
		case "set", "expired", "del":
			story = append(story, n)
		}
	}
	return strings.Join(story, " ")
}

// awaitStory waits until the story of a key ends so; a story that never does
// stays as it is.
func (s *Stage) awaitStory(e *KeyEvents, ends string) string {
	s.Within(s.TTL, func(context.Context) bool { return strings.HasSuffix(e.Story(), ends) })
	return e.Story()
}
