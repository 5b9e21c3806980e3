# `make` alone lists the targets. Everything that is built lands in bin/.
#
# The root module is built, checked and tested with GOWORK=off, as those see it who import
# it. cmd/writ-dev is a module of its own, because it embeds a whole Temporal server; it is
# compiled once, and tests receive the folder of the finished binaries in WRIT_BIN_DIR.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL:
.DEFAULT_GOAL := help

export GOWORK := off
BIN := $(CURDIR)/bin
export WRIT_BIN_DIR := $(BIN)

COMPILE := $(CURDIR)/build/compile
LINTERS := $(BIN)/linters
DEV := cmd/writ-dev
DEMO_FLAGS ?=
DEV_FLAGS ?=
SEED ?= 1
MINUTES ?= 10
CHAOS_FLAGS ?=
TEST_FLAGS ?=
MUTANT_FLAGS ?=

##@ Use

.PHONY: demo
demo: build ## set up and run the demonstration: 200 captures, one killed worker, each captured once
	@echo '== demonstration'
	@$(BIN)/writ-dev demo --writ $(BIN)/writ --captures examples/captures.jsonl $(DEMO_FLAGS)

.PHONY: dev
dev: build ## start PostgreSQL, Temporal, its web UI, a worker and the sandbox provider, and leave them running
	@exec $(BIN)/writ-dev $(DEV_FLAGS)

.PHONY: build
build: ## compile writ, writ-provider and writ-dev into bin/
	@echo '== compiling writ and writ-provider (one to three minutes the first time, then seconds)'
	@$(COMPILE) writ -o $(BIN)/ ./cmd/writ ./cmd/writ-provider
	@echo '== compiling the embedded Temporal server (five to ten minutes the first time, then seconds)'
	@cd $(DEV) && $(COMPILE) writ-dev -o $(BIN)/ .

##@ Check

.PHONY: test
test: build lint test-unit test-dev test-integration test-chaos ## set up and run every check and every test

.PHONY: lint
lint: lint-format lint-root lint-dev ## gofmt, vet and staticcheck on both modules; workflowcheck and exhaustive switches on the root

.PHONY: test-unit
test-unit: ## the root module's tests with the race detector, without the workspace
	@echo '== compiling the root module for the race detector (two to five minutes the first time)'
	@$(COMPILE) 'race detector' -race ./...
	@echo '== tests of the root module'
	@go test -race -count=1 -timeout 20m $(TEST_FLAGS) $$(go list ./... | grep -v '/integration$$')

.PHONY: test-dev
test-dev: build ## the tests of cmd/writ-dev
	@echo '== tests of $(DEV) (linking the Temporal server takes a minute)'
	@cd $(DEV) && go test -count=1 -timeout 20m $(TEST_FLAGS) ./...

.PHONY: test-integration
test-integration: build ## the black-box tests of real processes
	@echo '== tests of real processes'
	@go test -v -count=1 -timeout 60m $(TEST_FLAGS) ./integration

.PHONY: test-production
test-production: build ## the same tests with Temporal on PostgreSQL, as in production
	@echo '== tests of real processes, with Temporal on PostgreSQL'
	@WRIT_TEST_TEMPORAL_STORE=postgres go test -v -count=1 -timeout 90m $(TEST_FLAGS) ./integration

.PHONY: test-chaos
test-chaos: build ## one minute of the chaos run, with a fixed seed
	@echo '== a minute of chaos'
	@$(BIN)/writ-dev chaos --writ $(BIN)/writ --seed 1 --minutes 1

.PHONY: chaos
chaos: build ## break everything while intents run, and judge what is left: SEED=1 MINUTES=10
	@echo '== chaos'
	@$(BIN)/writ-dev chaos --writ $(BIN)/writ --seed $(SEED) --minutes $(MINUTES) $(CHAOS_FLAGS)

.PHONY: mutants
mutants: ## break the protocol in a copy, one breakage at a time, and demand that the test for it fails (five minutes)
	@echo '== mutants of the protocol: each must be caught by the one test that is named for it'
	@go run ./build/mutants $(MUTANT_FLAGS)

.PHONY: lint-format
lint-format:
	@echo '== gofmt'
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then \
		printf 'not formatted; run make fmt:\n%s\n' "$$unformatted" >&2; exit 1; fi

.PHONY: lint-root
lint-root: linters
	@echo '== go vet, staticcheck, exhaustive, workflowcheck: root module (a minute the first time)'
	@go vet ./...
	@$(LINTERS)/staticcheck ./...
	@$(LINTERS)/exhaustive -typeonly '^writ[/.]' ./...
	@$(LINTERS)/workflowcheck ./workflows

.PHONY: lint-dev
lint-dev: linters
	@echo '== go vet, staticcheck: $(DEV) (three to five minutes the first time: they read the Temporal server too)'
	@cd $(DEV) && go vet ./...
	@cd $(DEV) && $(LINTERS)/staticcheck ./...

.PHONY: linters
linters:
	@mkdir -p $(LINTERS)
	@cd build/tools && $(COMPILE) linters -o $(LINTERS)/ tool

##@ Maintain

.PHONY: fmt
fmt: ## format the Go code
	@gofmt -w .

.PHONY: docs
docs: ## write docs/errors.md, docs/providers.md and the tools of the example policies from the code
	@go test -count=1 -run '^(TestTheTablesOfErrorsAreThoseOfTheCode|TestTheToolsOfTheExamplePoliciesAreTheSampleTools)$$' ./cmd/writ -args -update
	@go test -count=1 -run '^TestThePageOfProvidersIsThatOfTheProfiles$$' ./tools/providers -args -update

.PHONY: clean
clean: ## delete what was built; the state of a development stack stays
	@rm -rf $(BIN)

.PHONY: help
help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
