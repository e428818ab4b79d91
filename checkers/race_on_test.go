//go:build race

package checkers

// randomHistories is small here: the race detector makes everything slow and
// the judging of one history runs on one goroutine anyway.
const randomHistories = 2_000
