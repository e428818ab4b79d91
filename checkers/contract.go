package checkers

import (
	"fmt"
	"slices"
)

// Validate refuses words that mean nothing: a misspelt promise would promise
// nothing, and pass.
func (c Contract) Validate() error {
	for property, promise := range c {
		if !slices.Contains(Properties, property) {
			return fmt.Errorf("contract: unknown property %q", property)
		}
		if !slices.Contains([]Promise{Promised, Predicted, Allowed}, promise) {
			return fmt.Errorf("contract: %s is %q; want promised, predicted or allowed", property, promise)
		}
	}
	return nil
}
