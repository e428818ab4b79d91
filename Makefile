# torture: is this lock safe?
#
#   make torture   install what is missing, build, compare, print where the report is
#   make test      the tests, on real servers

ARGS ?=
GO   ?= go
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: torture test test-long race fuzz mutants bench lint build install clean docs

torture: install build
	./bin/torture compare $(ARGS)

build:
	$(GO) build -o bin/torture ./cmd/torture

install:
	@sh scripts/install.sh

# One package after the other: they start real servers and stop real processes,
# and two cores are soon busy.
test: install build
	$(GO) vet ./...
	$(GO) test -p 1 -timeout 15m ./...

race: install build
	$(GO) test -race -p 1 -timeout 30m ./...

# Random histories against brute force, a million per property.
HISTORIES ?= 1000000
test-long:
	TORTURE_HISTORIES=$(HISTORIES) $(GO) test -count=1 -timeout 2h -v -run 'TestBruteForce|TestJournalOfAStore' ./checkers ./checkers/sequential

# Every fuzz target, one after the other, for FUZZTIME each.
FUZZTIME ?= 1m
fuzz:
	@sh scripts/fuzz.sh $(FUZZTIME)

# One change at a time in the files that decide verdicts: the tests must notice.
mutants:
	$(GO) run ./scripts/mutants

# What judging costs, beside plain Porcupine; writes docs/benchmarks.md.
bench:
	$(GO) run ./scripts/bench

lint:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "not formatted: $$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...

# Puts the output of real runs into the README and docs/claims.md. Needs chromium.
docs: build
	./bin/torture compare --seed 1
	$(GO) run ./docs/generate results/latest
	./bin/torture claims --seed 1
	$(GO) run ./docs/generate results/latest
	./bin/torture explore --seed 1
	$(GO) run ./docs/generate results/latest

# Removes what dead runs have left, and what was built here. Results are kept.
clean: build
	./bin/torture clean
	rm -rf bin
