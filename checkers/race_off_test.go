//go:build !race

package checkers

// randomHistories is how many the brute force is compared on.
const randomHistories = 100_000
