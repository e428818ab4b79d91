package checkers

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/torture-harness/torture/harness/history"
)

// fingerprint is a judgement without what may differ between two of the same.
func fingerprint(t *testing.T, s situation) string {
	t.Helper()
	j := judged(t, s.history, accepted(s.history, s.journal...), Config{})
	for p, f := range j.Findings {
		f.CheckedMS = 0
		j.Findings[p] = f
	}
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// listing shows a history for a failed test.
func listing(h *history.History) string {
	var b strings.Builder
	for _, o := range h.Operations {
		fmt.Fprintf(&b, "%-6s %-8s [%d,%d] %-8s grant=%s id=%s basis=%s lease=%d+%d\n", o.Process, o.Kind, o.Call, o.Return, o.Outcome, o.Grant, o.WriteID, o.Basis, o.LeaseCall, o.LeaseTTL)
	}
	return b.String()
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
