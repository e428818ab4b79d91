package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/torture-harness/torture/harness"
)

// validateMemory is where the collector of garbage begins to hurry, in bytes,
// unless GOMEMLIMIT says otherwise.
const validateMemory = 56 << 20

// validateOnly says what can be judged, and of what cannot be, why.
func validateOnly(path string) error {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(validateMemory)
	}
	valid, err := harness.Validate(path)
	for _, v := range valid {
		for _, w := range v.Warnings {
			fmt.Println("warning: " + w)
		}
		fmt.Printf("%s: valid, %d operations\n", v.File, v.Operations)
	}
	return err
}
