//go:build !race

package checkers

// usualHistories is how many the brute force is compared on, unless told.
const usualHistories = 100_000
