package checkers

import (
	"fmt"
	"os"
	"strconv"
)

// How many random histories are tried, and which. TORTURE_HISTORIES and
// TORTURE_SEED say otherwise; `make test-long` does.
var (
	randomHistories = int(fromEnvironment("TORTURE_HISTORIES", usualHistories))
	bruteSeed       = uint64(fromEnvironment("TORTURE_SEED", 20240607))
)

func fromEnvironment(name string, usual int64) int64 {
	text, set := os.LookupEnv(name)
	if !set {
		return usual
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		panic(fmt.Sprintf("%s=%q: take a whole number from 1", name, text))
	}
	return n
}
