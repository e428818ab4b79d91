package explore

import (
	"fmt"
	"strings"

	"github.com/torture-harness/torture/harness/result"
)

// Sentence says what all schedules of a strategy came to.
func Sentence(e result.Explored) string {
	words := map[result.Class]string{
		result.LockViolated: "lock layer violated in", result.Stale: "stale-overwrite in", result.LostUpdate: "lost update in",
		result.LateOnNewest: "late write on the newest data in", result.Refused: "refused in", result.Clean: "clean in", result.Impossible: "not run as planned",
	}
	var parts []string
	for _, class := range result.Classes {
		n := e.Counts[class]
		if n > 0 || class == result.LockViolated || class == result.Stale || class == result.LostUpdate {
			parts = append(parts, fmt.Sprintf("%s %d", words[class], n))
		}
	}
	of := fmt.Sprintf("all %d schedules", len(e.Schedules))
	if int64(len(e.Schedules)) < e.Space {
		of = fmt.Sprintf("%d of %d schedules", len(e.Schedules), e.Space)
	}
	return fmt.Sprintf("of %s: %s", of, strings.Join(parts, ", "))
}
