package claims

import (
	"context"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// c11 looks at the lease again and again while its holder is stopped.
func c11(renews bool) func(*Stage) {
	return func(s *Stage) {
		names := []string{"A"}
		if renews {
			names = append(names, "R")
		}
		cast := s.Cast(names...)
		a := cast[0]
		a.Acquire()
		end := a.LeaseEnd()
		if renews {
			defer s.Renews(cast[1], a).Stop()
		}
		s.Stop(a)
		before := s.allStopped(a)
		polls, countdown := s.countdown(a)
		after := s.allStopped(a)
		s.Resume(a)
		s.Tell("countdown", countdown)
		s.Say("left at each look: %s", strings.Join(polls, ", "))
		s.Prove(len(polls) >= 5 && before && after, "five looks or more at the lease between two at A's threads, all in T", "%d looks, from %s to %s", len(polls), polls[0], polls[len(polls)-1])
		s.Prove(a.stops[0].From < end, "A was stopped before its lease's end", "%.2f s before", seconds(end-a.stops[0].From))
	}
}

// countdown polls what is left of an actor's lease: "ended" if it only fell and
// came to its end, "rose" at the first rise, "went on" if it took too long.
func (s *Stage) countdown(a *Actor) (polls []string, how string) {
	how = "went on"
	last := time.Duration(1 << 62)
	var next time.Time
	s.Within(5*s.TTL, func(ctx context.Context) bool {
		if time.Now().Before(next) {
			return false
		}
		next = time.Now().Add(s.TTL / 12)
		left, err := s.left(ctx, a)
		if err != nil {
			return false
		}
		switch {
		case left < 0:
			polls, how = append(polls, "nothing"), "ended"
		case left > last:
			polls, how = append(polls, left.String()), "rose"
		default:
			polls, last = append(polls, left.String()), left
		}
		return how != "went on" && len(polls) >= 5
	})
	return polls, how
}

// left is what the lock's server says is left of an actor's lease; less than
// nothing if it is over. etcd counts in whole seconds.
func (s *Stage) left(ctx context.Context, a *Actor) (time.Duration, error) {
	if a.Strategy.Locker.LeaseBy == "etcd" {
		client, err := s.Servers.Etcd()
		if err != nil {
			return 0, err
		}
		got, err := client.TimeToLive(ctx, clientv3.LeaseID(a.Lease().ID))
		if err != nil {
			return 0, err
		}
		return time.Duration(got.TTL) * time.Second, nil
	}
	return s.Servers.Redis(0).PTTL(ctx, a.Lease().Key).Result()
}
