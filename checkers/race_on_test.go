//go:build race

package checkers

// usualHistories is small here: the race detector makes everything slow and
// the judging of one history runs on one goroutine anyway.
const usualHistories = 2_000
