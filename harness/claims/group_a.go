package claims

import "slices"

// groupA: getting the lock gives only a time-limited right.
var groupA = slices.SortedFunc(slices.Values(slices.Concat(claimsOfExpiry, claimsOfHoldings, claimsOfAnswers)), byNumber)
