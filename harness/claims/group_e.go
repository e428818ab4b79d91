package claims

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// groupE: extra scenarios.
var groupE = slices.SortedFunc(slices.Values(slices.Concat(extraLocks, extraRedlock, extraTokens, extraRestores, extraFailover)), byNumber)

func byNumber(a, b Claim) int { return cmp.Compare(number(a.ID), number(b.ID)) }

// number is that of an id: 11 of X11.
func number(id string) int {
	n, _ := strconv.Atoi(strings.TrimLeft(id, "CX"))
	return n
}
