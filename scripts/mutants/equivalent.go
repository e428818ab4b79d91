package main

import (
	"fmt"
	"os"
	"strings"
)

// readEquivalent reads the list of mutants that are the same function as the
// original: the name of a mutant, as it is printed, and below it, indented, why.
func readEquivalent(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	name := ""
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case strings.TrimSpace(line) == "", strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "\t"):
			if name == "" {
				return nil, fmt.Errorf("%s:%d: a reason without a mutant", path, i+1)
			}
			out[name] = strings.TrimSpace(out[name] + " " + strings.TrimSpace(line))
		default:
			if name = strings.TrimSpace(line); out[name] != "" {
				return nil, fmt.Errorf("%s:%d: listed twice", path, i+1)
			}
			out[name] = ""
		}
	}
	for name, reason := range out {
		if reason == "" {
			return nil, fmt.Errorf("%s: no reason for %s", path, name)
		}
	}
	return out, nil
}
