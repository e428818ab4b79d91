package claims

import "slices"

// groupD: fencing.
var groupD = slices.Concat(claimsOfTokens, claimsOfStores)
