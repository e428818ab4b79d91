package claims

import (
	"context"
	"fmt"
	"time"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/wire"
	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/point"
)

// claimsOfHoldings: one key, one holding, and nobody else's to delete.
var claimsOfHoldings = []Claim{
	{
		ID:   "C3",
		Says: "The value is drawn anew for every request: it identifies this holding.",
		Cases: []Case{
			{Name: "a", About: "a late release, and the next holding has the same value", Strategy: "redis-setnx-fixed+plain", TTL: 3 * time.Second, Play: c3,
				Expect: "release(A)=ok early(C)=yes all4=violated"},
			{Name: "b", About: "the same, with a value of its own", Strategy: "redis-setnx+plain", TTL: 3 * time.Second, Play: c3,
				Expect: "release(A)=lost early(C)=no all4=holds",
				Breaks: []Break{With("redis-setnx-fixed+plain")}},
		},
	},
	{
		ID:   "C4",
		Says: "NX: only an absent key can be taken.",
		Cases: []Case{
			{About: "six contenders, no fault", Strategy: "redis-setnx+plain", TTL: 3 * time.Second, Play: c4,
				Expect: "all4=holds handovers=20 refused=20",
				Breaks: []Break{With("redis-set+plain")}},
		},
	},
	{
		ID:   "C7",
		Says: "Release compares the value and deletes in one step inside Redis, or A deletes B's lock.",
		Cases: []Case{
			{Name: "a", About: "released by DEL", Strategy: "redis-setnx-del+plain", TTL: 3 * time.Second, Play: c7,
				Expect: "release(A)=ok early(C)=yes all4=violated"},
			{Name: "b", About: "released by GET, then DEL", Strategy: "redis-setnx-get-del+plain", TTL: 3 * time.Second, Play: c7Between,
				Expect: "release(A)=ok early(C)=yes all4=violated"},
			{Name: "c", About: "released by a script", Strategy: "redis-setnx+plain", TTL: 3 * time.Second, Play: c7,
				Expect: "release(A)=lost early(C)=no all4=holds",
				Breaks: []Break{With("redis-setnx-del+plain")}},
		},
	},
}

// c3: the release of a holding is held in the network until its worker has the
// lock again.
func c3(s *Stage) {
	one := s.OneProcess(Part{Name: "A", Wired: true}, Part{Name: "A2"})
	c := s.Cast("C")[0]
	a, a2 := one[0], one[1]
	a.Acquire()
	a.Wires.Redis[0].HoldRequests(wire.Containing("evalsha"))
	releasing := a.Begin(workloads.Step{Do: history.Release})
	s.AwaitHeld(a.Wires.Redis[0])
	late := history.Now()
	s.Prove(late < a.LeaseEnd(), "the release was sent before the lease had ended", "%.2f s before", seconds(a.LeaseEnd()-late))
	s.Await("the end of the first holding", func(ctx context.Context) bool { return !s.look(ctx, s.Key(a.Resource)).there() })
	second := a2.Acquire()
	a2.Read()
	through := history.Now()
	s.LetThrough(a.Wires.Redis[0])
	released := releasing.Wait()
	s.Prove(second.Return < through && through < released.Return, "it was executed after the second holding had begun", "%.3f s after", seconds(through-second.Return))
	s.Say("the late release deleted %s", map[history.Outcome]string{history.OK: "a key", history.Lost: "nothing"}[released.Outcome])
	s.intrudes(c, a2)
}

// intrudes: c tries for a lock that holder has, and has read under. If it is let
// in, it reads and writes first; then the holder writes and releases.
func (s *Stage) intrudes(c, holder *Actor) {
	trying := c.Begin(workloads.Step{Do: history.Acquire})
	in := s.Within(s.TTL/2, func(context.Context) bool { return trying.Ended() })
	change := func() {
		trying.Wait()
		c.Enter()
		c.Write()
	}
	if in {
		change()
	}
	holder.Write()
	holder.Release()
	if !in {
		change()
	}
	s.tellEarly(c, holder)
	c.Release()
}

// c4: all want the lock again and again; whoever had it asks again only when
// the next has it, so that the others are always waiting.
func c4(s *Stage) {
	const contenders, wanted = 6, 20
	type turn struct {
		actor *Actor
		asked int64
		steps []*Doing // acquire, read, write, release
	}
	var names []string
	for i := range contenders {
		names = append(names, fmt.Sprintf("K%d", i+1))
	}
	ask := func(a *Actor) *turn {
		t := &turn{actor: a, asked: history.Now()}
		for _, do := range []history.Kind{history.Acquire, history.Read, history.Write, history.Release} {
			t.steps = append(t.steps, a.Begin(workloads.Step{Do: do}))
		}
		return t
	}
	var waiting []*turn
	for _, a := range s.Cast(names...) {
		waiting = append(waiting, ask(a))
	}
	handovers, refused := 0, 0
	var last *turn
	for len(waiting) > 0 {
		var next *turn
		s.Await("the next holder", func(context.Context) bool {
			for i, t := range waiting {
				if t.steps[0].Ended() {
					next = t
					waiting = append(waiting[:i:i], waiting[i+1:]...)
					return true
				}
			}
			return false
		})
		refused += next.steps[0].Wait().Tries - 1
		if last != nil {
			handovers++
			if handovers < wanted {
				waiting = append(waiting, ask(last.actor))
			}
		}
		for _, step := range next.steps[1:] {
			step.Wait()
		}
		last = next
	}
	s.Say("%d handovers, %d attempts refused", handovers, refused)
	s.Prove(handovers >= wanted, "20 handovers, each asked for while another had the lock", "%d", handovers)
	s.Tell("handovers", fmt.Sprint(min(wanted, handovers)))
	s.Tell("refused", fmt.Sprint(min(wanted, refused)))
}

// c7: A releases after its lease has ended and B has the lock.
func c7(s *Stage) { s.lateRelease(false) }

// c7Between: it has looked before, and was stopped before it deleted.
func c7Between(s *Stage) { s.lateRelease(true) }

func (s *Stage) lateRelease(looked bool) {
	cast := s.Cast("A", "B", "C")
	a, b, c := cast[0], cast[1], cast[2]
	a.Acquire()
	a.Read()
	wrote := a.Write()
	var releasing *Doing
	if looked {
		a.Arm(point.Between)
		releasing = a.Begin(workloads.Step{Do: history.Release})
		a.AwaitAt(point.Between)
	}
	s.Stop(a)
	if !s.UntilLeaseEnded(a) || !s.TakesLock(b) {
		return
	}
	b.Read()
	k := s.lookNow(s.Key(b.Resource))
	s.Prove(k.value == b.Lease().Value, "the key had B's value before A's release was executed", "with %v left", k.left)
	if looked {
		a.Go()
	} else {
		releasing = a.Begin(workloads.Step{Do: history.Release})
	}
	stop := a.stops[len(a.stops)-1]
	s.Prove(wrote.Return < stop.From && stop.From < a.LeaseEnd(), "A was stopped behind its write, before its lease's end", "%.2f s before", seconds(a.LeaseEnd()-stop.From))
	s.Resume(a)
	releasing.Wait()
	s.intrudes(c, b)
}
