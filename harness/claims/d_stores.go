package claims

import "slices"

// claimsOfStores: what the numbers rest on, and what other checks are worth.
var claimsOfStores = slices.Concat(claimsOfResends, claimsOfNumbering, claimsOfRestarts, claimsOfKeepers, claimsOfEntries)
