# Everything a developer types. Each target does one thing; `make` alone lists them.

# Tools are pinned in a module of their own, so that their dependencies stay out of the program's go.mod.
TOOL := go tool -modfile=tools/go.mod

# How long each fuzz target runs, how long soak goes on, and how often repeat runs the tests.
FUZZTIME ?= 30s
SOAK_TIME ?= 10m
COUNT ?= 20

.PHONY: help build test lint model demo bench soak crashes repeat fuzz fmt clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

build: ## bin/ferrox
	@scripts/need
	go build -trimpath -o bin/ferrox ./cmd/ferrox

# Most of the tests wait for processes rather than for a core, so more of them run at once than there are cores.
test: ## all tests, with the race detector, and each fuzz target for a fixed number of cases
	@scripts/need
	@scripts/fuzz 200x
	go test -race -parallel 4 -timeout 20m ./...

# The cheap checks first: a wrong space is known in a second, a vulnerability in half a minute.
lint: ## formatting, vet, staticcheck, known vulnerabilities
	@scripts/need
	@scripts/formatted $(TOOL) gofumpt
	go vet ./...
	$(TOOL) staticcheck ./...
	go -C tools run ./vuln ..

model: ## every state of the model of a held lane, from every side; the tests look from three
	@scripts/need spin
	FERROX_TEST_SOAK=1 go test -count=1 -v ./docs/model

demo: build ## a throw-away batch with a hold, a ruling and a merge
	bin/ferrox demo

bench: ## the benchmarks
	go test -run '^$$' -bench . -benchmem ./...

# -timeout has to leave room for the batch, or the history, that is under way when the time is over.
soak: ## kill -9 at random instants, and random histories, for SOAK_TIME; prints seeds and counts
	@scripts/need
	FERROX_TEST_SOAK_TIME=$(SOAK_TIME) go test -race -count=1 -timeout 24h -v -run '^(TestKillLoop|TestSoak)$$' ./cmd/ferrox ./engine/...

crashes: ## the batch of the crash tests, killed at every passing of every point, and at pairs of them (an hour)
	FERROX_TEST_SOAK=1 go test -race -count=1 -timeout 24h -run '^TestCrash_' ./cmd/ferrox

repeat: ## the tests COUNT times over, for what shows only now and then
	go test -race -count=$(COUNT) -timeout 120m ./...

fuzz: ## every fuzz target for FUZZTIME
	@scripts/fuzz $(FUZZTIME)

fmt: ## format the Go files
	$(TOOL) gofumpt -w .

clean: ## remove what was built
	rm -rf bin
