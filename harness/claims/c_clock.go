package claims

import (
	"context"
	"fmt"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// jump moves the clock of server 3 beyond the end of A's lease, unless it is
// not to be moved. firstB says who writes first.
func jump(moved, firstB bool) func(*Stage) {
	return func(s *Stage) {
		a := s.takesThree("A")
		b := s.second()
		if moved {
			ctx, cancel := s.Context()
			defer cancel()
			by := s.TTL + time.Second
			s.must(s.Servers.Cluster.Redis[2].MoveClock(ctx, by), "move a clock")
			s.Fault(s.FaultID("clock"), "clock", history.Healed, s.Servers.Cluster.Redis[2].Name, fmt.Sprintf("%v forward", by))
			s.Say("the clock of server 3 was moved %v forward", by)
			s.Await("server 3 without the key", func(ctx context.Context) bool { return s.Values(ctx, a.Resource)[2] != a.Lease().Value })
			s.Prove(s.Having(a.Resource, a.Lease().Value) == 2, "A's key is gone from server 3, and from no other", "%.2f s before its lease's end", seconds(a.LeaseEnd()-history.Now()))
		}
		tried := b.Try(5)
		if tried.Outcome == history.OK {
			b.Enter()
			if firstB {
				b.Write()
				a.Write()
			} else {
				a.Write()
				b.Write()
			}
		} else {
			s.proveRefused(b, tried, a, 5)
			a.Write()
		}
		last := max(a.Last(history.Write).Return, b.Last(history.Write).Return, tried.Return)
		s.Prove(last < a.LeaseEnd(), "all of it came before the end of A's lease", "%.2f s before", seconds(a.LeaseEnd()-last))
		if b.Held.Grant != "" {
			b.Release()
		}
		a.Release()
	}
}
