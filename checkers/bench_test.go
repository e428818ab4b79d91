package checkers

import (
	"context"
	"testing"
)

// BenchmarkJudge judges one resource with 10,000 updates: a green history and
// one with a single stale write at its end.
func BenchmarkJudge(b *testing.B) {
	for name, stale := range map[string]bool{"green": false, "red": true} {
		b.Run(name, func(b *testing.B) {
			ops := []op{acquires("A", "gA", 0, 1), reads("A", 2, 3, "init")}
			last, now := "init", int64(30)
			for i := range int64(10_000) {
				id := "w" + itoa(i)
				ops = append(ops, acquires("B", "g"+id, now, now+1), reads("B", now+2, now+3, last), writes("B", "g"+id, id, last, now+4, now+5), observed(now+6, now+7, id))
				last, now = id, now+30
			}
			if stale {
				ops = append(ops, writes("A", "gA", "stale", "init", now, now+1))
			}
			hist := recorded(ops...)
			for b.Loop() {
				if _, err := Judge(context.Background(), hist, nil, Config{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
