package claims

import (
	"fmt"
	"strings"
	"time"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
)

// answered is the proof that a case without it lacks: see silence.
const answered = "the store answered all along"

// silence says whether a store that nobody disturbed did not answer a read of
// the observer for half a lease or more. Then the machine stood still, or the
// engine did, and what did not come about within some leases says nothing about
// a lock: a lease "that does not end" above all.
func silence(h *history.History, ttl time.Duration) (Proof, bool) {
	for _, f := range h.Faults {
		if strings.Contains(f.Victim, "postgres") {
			return Proof{}, false
		}
	}
	var longest int64
	for _, op := range h.Operations {
		if op.Process == history.Observer {
			longest = max(longest, op.Completed-op.Call)
		}
	}
	return Proof{What: answered, How: fmt.Sprintf("a read took %.1f s", seconds(longest))}, longest >= int64(ttl/2)
}

// mayBeSilence says whether what differs from the claim can come from a machine
// that stood still. What was seen to go wrong with the lock or the data cannot.
func mayBeSilence(found []Found) bool {
	differs := false
	for _, f := range found {
		if f.OK {
			continue
		}
		differs = true
		if f.Got == string(checkers.Violated) && f.What != string(checkers.Progress) {
			return false
		}
	}
	return differs
}
