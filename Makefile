# Sallyport. `make help` lists what there is.
SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c

GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X github.com/sallyport-io/sallyport/internal/cli.version=$(VERSION)
# The same flags for everything, so that builds and tests share one cache.
GOFLAGS_COMMON := -trimpath
export CGO_ENABLED ?= 0
FUZZTIME ?= 10s

CONTROLLER_GEN := $(GO) run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0
STATICCHECK := $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

.PHONY: build
build: ## build bin/sallyport
	$(GO) build $(GOFLAGS_COMMON) -ldflags "$(LDFLAGS)" -o bin/sallyport ./cmd/sallyport

.PHONY: demo
demo: ## judge the built-in examples at both doors
	$(GO) run $(GOFLAGS_COMMON) ./cmd/sallyport demo

.PHONY: test
test: ## run every test, those against a real control plane included
	@echo "test: building the control plane that the tests run against, if it is not there yet"
	@lab/build
	@echo "test: compiling and running every test; about 35 minutes on two cores, 10 more the first time"
	$(GO) test $(GOFLAGS_COMMON) -count=1 -timeout 30m $$($(GO) list ./... | grep -v /test/)
	# One after the other: what answers how fast is part of what they look at.
	$(GO) test $(GOFLAGS_COMMON) -count=1 -timeout 40m -p 1 ./test/...
	cd test/patterns && $(GO) test $(GOFLAGS_COMMON) -count=1 ./...

.PHONY: test-short
test-short: ## run the tests that need no control plane
	$(GO) test $(GOFLAGS_COMMON) -short ./...

.PHONY: race
race: ## run the tests of the product's own packages under the race detector
	CGO_ENABLED=1 $(GO) test $(GOFLAGS_COMMON) -race -count=1 -timeout 40m $$($(GO) list ./... | grep -v /test/)

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME
	@hack/fuzz $(FUZZTIME)

.PHONY: long
long: ## run the suites that take too long for every change, and note their results
	@hack/long

.PHONY: bench
bench: ## run every benchmark
	$(GO) test $(GOFLAGS_COMMON) -run '^$$' -bench . -benchmem ./internal/...

.PHONY: lint
lint: ## gofmt, go vet and staticcheck
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "not formatted:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(STATICCHECK) ./...

.PHONY: generate
generate: ## generate deepcopy code, CRDs and the reference of the kinds
	$(CONTROLLER_GEN) object paths=./api/...
	$(CONTROLLER_GEN) crd paths=./api/... output:crd:dir=config/crd
	$(GO) run ./hack/apidoc > docs/reference.md

.PHONY: generate-defaults
generate-defaults: ## write the table of what the API server fills in
	@table=$$(mktemp) && "$$(lab/build)/lab" defaults table > "$$table" && cat "$$table" > internal/defaults/table.json && rm "$$table"

.PHONY: lab
lab: ## start a real control plane with Sallyport at both doors; Ctrl-C ends it
	@lab/build >/dev/null
	@$(GO) build $(GOFLAGS_COMMON) -o bin/lab ./test/lab/cmd/lab
	@exec bin/lab
