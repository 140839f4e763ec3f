# Sallyport. `make help` lists what there is.
SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c

GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X github.com/sallyport-io/sallyport/internal/app/version.version=$(VERSION)
# The same flags for everything, so that builds, tests and linters share one cache.
export GOFLAGS += -trimpath
export CGO_ENABLED ?= 0
FUZZTIME ?= 10s

CONTROLLER_GEN := $(GO) run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0
GOVULNCHECK := $(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0
STATICCHECK := $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

.PHONY: build
build: ## build bin/sallyport
	$(GO) build -ldflags "$(LDFLAGS)" -o bin/sallyport ./cmd/sallyport

.PHONY: demo
demo: ## judge the built-in examples at both doors
	$(GO) run ./cmd/sallyport demo

# The race detector needs a C compiler; where there is none the tests run without it.
RACE ?= $(shell command -v "$$($(GO) env CC)" >/dev/null && echo on)
RACED := $(if $(filter on,$(RACE)),CGO_ENABLED=1,)
RACE_FLAG := $(if $(filter on,$(RACE)),-race,)
# All tests but those of the whole program, against a real control plane or as a command.
UNITS = $$($(GO) list ./... | grep -v /test/)

.PHONY: test
test: ## run every test, those against a real control plane included
	@echo "test: building the control plane that the tests run against, if it is not there yet"
	@lab/build
	@echo "test: compiling and running every test, the race detector is $(or $(RACE),off) for the units; about 45 minutes on two cores, 10 more the first time"
	$(RACED) $(GO) test $(RACE_FLAG) -count=1 -timeout 40m $(UNITS)
	# One after the other: what answers how fast is part of what they look at.
	$(GO) test -count=1 -timeout 60m -p 1 ./test/...
	cd test/patterns && $(GO) test -count=1 ./...

.PHONY: test-short
test-short: ## run the tests that need no control plane
	$(GO) test -short ./...

.PHONY: race
race: ## run the tests of the product's own packages under the race detector
	CGO_ENABLED=1 $(GO) test -race -count=1 -timeout 40m $(UNITS)

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME
	@hack/fuzz $(FUZZTIME)

.PHONY: long
long: ## run the suites that take too long for every change, and note their results
	@hack/long

.PHONY: bench
bench: ## run every benchmark
	$(GO) test -run '^$$' -bench . -benchmem ./internal/...

.PHONY: lint
lint: ## gofmt, go vet, staticcheck and the words that prose does without
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "not formatted:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(STATICCHECK) ./...
	$(GO) run ./hack/prose

.PHONY: vulncheck
vulncheck: ## look for known vulnerabilities in what is linked in
	$(GOVULNCHECK) ./...

# VERSION and SOURCE_DATE_EPOCH of the environment stand above what git says.
RELEASE_FLAGS ?=

.PHONY: image
image: ## write the container image into dist/image, and print its digest
	@$(GO) run ./hack/release image $(RELEASE_FLAGS)

# HOST/PATH or HOST/PATH:TAG; without a tag it is the version.
IMAGE ?=
PUSH_FLAGS ?=

.PHONY: push
push: ## push the image of dist/image to IMAGE, and print its name by digest
	@$(GO) run ./hack/release push -image "$(IMAGE)" $(PUSH_FLAGS)

.PHONY: release
release: ## write archives, checksums and the plugin's manifest into dist/release
	@$(GO) run ./hack/release archives $(RELEASE_FLAGS)

.PHONY: notes
notes: ## print what the changelog says of the version
	@$(GO) run ./hack/release notes

.PHONY: generate
generate: ## generate deepcopy code, CRDs, the reference of the kinds and what the chart has of config/
	$(CONTROLLER_GEN) object paths=./api/...
	$(CONTROLLER_GEN) crd paths=./api/... output:crd:dir=config/crd
	$(GO) run ./hack/apidoc > docs/reference.md
	$(GO) run ./hack/chart

.PHONY: generate-defaults
generate-defaults: ## write the table of what the API server fills in
	@table=$$(mktemp) && "$$(lab/build)/lab" defaults table > "$$table" && cat "$$table" > internal/files/defaults/table.json && rm "$$table"

.PHONY: lab
lab: ## start a real control plane with Sallyport at both doors; Ctrl-C ends it
	@lab/build >/dev/null
	@$(GO) build -o bin/lab ./test/lab/cmd/lab
	@exec bin/lab
