#!/bin/sh
# Runs every fuzz target for a while, one after the other; stops at the first
# that finds something. What it found lies in the package's testdata/fuzz.
#   sh scripts/fuzz.sh 10m
set -eu
time=${1:-1m}
go=${GO:-go}
for file in $(git ls-files --cached --others --exclude-standard '*_test.go' | sort); do
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		echo "$target ($(dirname "$file")) for $time"
		# Minimizing an input for a minute, as is usual, leaves no time to look for others.
		"$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 100x "./$(dirname "$file")"
	done
done
