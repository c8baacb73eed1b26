# make run    builds the commands, compiles the model in testdata and lets it answer
# make test   checks everything; under ten minutes on two cores
# make help   lists the rest

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

export CGO_ENABLED := 0

# Where real models are kept (make models); not in the repository.
MODELS ?= $(or $(JNS_MODELS),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/jns/models)
TINY   := testdata/models/tiny
PROMPT ?= Tell me a story about a fox and a lamp.

# Kernel sets that this processor must offer, read from the kernel's list of features rather than by our own detection: a set that
# silently went missing fails the tests. Empty where that list does not exist.
FLAGS  := $(shell grep -m1 '^flags' /proc/cpuinfo 2>/dev/null)
has     = $(filter $(1),$(FLAGS))
SETS   := $(strip $(and $(call has,avx2),$(call has,fma),avx2) $(and $(call has,avx2),$(call has,avx_vnni),avxvnni) \
          $(and $(call has,avx512f),$(call has,avx512_vnni),avx512vnni))
empty  :=
comma  := ,
export JNS_REQUIRE_SETS ?= $(subst $(empty) $(empty),$(comma),$(SETS))

## Main

.PHONY: help
help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' Makefile | sed -E 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

.PHONY: build
build: ## the commands into ./bin
	@mkdir -p bin
	go build -trimpath -o bin/ ./cmd/jnsc ./cmd/jns-run ./cmd/jns-get

.PHONY: run
run: build ## compile the embedded model and let it answer; PROMPT="…" asks something else
	@echo
	@echo '$$ bin/jnsc compile $(TINY)/jns-tiny.gguf -o bin/jns-tiny.jns'
	@bin/jnsc compile $(TINY)/jns-tiny.gguf -o bin/jns-tiny.jns
	@echo
	@echo '$$ bin/jns-run bin/jns-tiny.jns --temp 0 -p "$(PROMPT)"'
	@bin/jns-run bin/jns-tiny.jns --temp 0 -p "$(PROMPT)"

## Checks

.PHONY: test
test: vet unit asm-check ## everything: vet on four systems and purego, all tests, regenerated assembly

.PHONY: vet
vet:
	@fmt=$$(gofmt -l $$(find . -name '*.go' -not -path './.tools/*')); if [ -n "$$fmt" ]; then echo "gofmt these: $$fmt" >&2; exit 1; fi
	@for t in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64; do \
		echo "vet $$t"; GOOS=$${t%/*} GOARCH=$${t#*/} go vet ./...; done
	@echo "vet linux/amd64 purego"; GOOS=linux GOARCH=amd64 go vet -tags purego ./...
	@echo "build purego"; for c in jnsc jns-run jns-get; do go build -tags purego -o /dev/null ./cmd/$$c; done

.PHONY: unit
unit:
	go test -timeout 20m ./...

.PHONY: asm-check
asm-check: # the generator builds, and what it writes is what is committed
	@cd kernels/_asm && go vet ./... && go test ./...
	@for a in amd64 arm64; do tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	(cd kernels/_asm && go run ./$$a -out "$$tmp"); \
	for f in "$$tmp"/*; do cmp "$$f" "kernels/$$a/$${f##*/}" || { echo "run make asm" >&2; exit 1; }; done; \
	for f in $$(grep -l '^// Code generated' kernels/$$a/*_$$a.s); do \
		[ -f "$$tmp/$${f##*/}" ] || { echo "$$f is written by nothing" >&2; exit 1; }; done; \
	echo "asm: $$(ls "$$tmp" | wc -l) files of $$a are as generated"; rm -rf "$$tmp"; done

.PHONY: test-arm64
test-arm64: ## an arm64 build under an emulator gives the same container bytes; fetches the emulator
	.ci/arm64

.PHONY: test-arm
test-arm: ## kernels of arm64 and whole models under an emulator with SME2, bit for bit; fetches the emulator
	.ci/arm64-run

.PHONY: fuzz
fuzz: ## every fuzz target for a minute; EACH=10s (or 100000x, so many inputs) and FUZZ=FuzzParse narrow it
	.ci/fuzz $(or $(EACH),60s) $(FUZZ)

## Making

.PHONY: asm
asm: ## write the assembly anew
	cd kernels/_asm && go run ./amd64 -out ../amd64 && go run ./arm64 -out ../arm64
	git --no-pager diff --stat -- kernels/amd64 kernels/arm64

.PHONY: golden
golden: ## write golden files anew; review the difference like code
	go test $$(grep -rlE 'flag\.Bool\("update"' --include='*_test.go' . | xargs -n1 dirname | sort -u) -update
	git --no-pager diff --stat

.PHONY: archs
archs: ## every architecture: error, restore, scalar kernels and batches in one table (MADE=dir of the sixteen F16 models, DIRS="-peer build -dir X"); then float64 references
	go run ./cmd/internal/agree -archs -shared "$${JNS_SHARED:-../shared}" $(if $(MADE),-made $(MADE)) $(DIRS)
	go test -timeout 40m -count=1 ./cmd/internal/synth

.PHONY: cross
cross: ## the commands for five systems into ./bin/OS-ARCH
	@for t in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64; do \
		d=bin/$${t%/*}-$${t#*/}; mkdir -p $$d; echo $$d; \
		GOOS=$${t%/*} GOARCH=$${t#*/} go build -trimpath -ldflags='-s -w' -o $$d/ ./cmd/jnsc ./cmd/jns-run ./cmd/jns-get; done

## Measuring

.PHONY: bench
bench: build ## kernels, and the embedded model
	go test -run '^$$' -bench . -benchtime 200ms ./kernels/...
	bin/jnsc compile $(TINY)/jns-tiny.gguf -o bin/jns-tiny.jns
	bin/jns-run bench bin/jns-tiny.jns -p 256 -n 128 --ctx 512

.PHONY: models
models: ## fetch the three real models, 842 MB, into MODELS=DIR (default: the cache directory)
	testdata/fetch-models "$(MODELS)"

.PHONY: agree
agree: build ## error against the exact oracle, beside llama.cpp's; needs the reference data in ../shared
	go run ./cmd/internal/agree -models "$(MODELS)" -jnsc bin/jnsc -jns-run bin/jns-run

.PHONY: bench-peer
bench-peer: build ## speed beside llama.cpp, alternating, same file, same threads; TYPES=all or Q8_0,IQ4_XS makes and measures SmolLM2 in these types, THIRD=PROGRAM alternates a third
	go run ./cmd/internal/peer $(if $(TYPES),-speed -markdown -pairs 3 -reps 1 -n 64 -types "$(TYPES)" "$(MODELS)/SmolLM2-135M-Instruct-Q4_1.gguf",-models "$(MODELS)") $(if $(THIRD),-third "$(THIRD)")

.PHONY: clean
clean: ## remove what was built
	rm -rf bin

## Streaming

# SHAPE=small takes seconds, eighth a gigabyte of disk twice, full 17 GB. CGROUP=/sys/fs/cgroup/memory limits each run to its grant (control groups of version 1, as root).
SHAPE      ?= full
STREAM_DIR ?= $(MODELS)

.PHONY: stream-test
stream-test: build ## a mixture of 128 experts in an eighth, a quarter and a half of its size: same bits, within the grant; SHAPE=small|eighth|full
	go build -trimpath -o bin/streamtest ./cmd/internal/streamtest
	bin/streamtest -shape $(SHAPE) -dir "$(STREAM_DIR)" -jnsc bin/jnsc -jns-run bin/jns-run $(if $(CGROUP),-cgroup $(CGROUP))

## Publishing

# The Go version that releases are built with.
TOOLCHAIN := go1.26.8

.PHONY: published
published: build ## write the manifests of published models anew, from the sources in MODELS=DIR; BENCH=1 measures too
	manifests/publish.sh "$(MODELS)"
	$(MAKE) models-md

.PHONY: models-md
models-md: ## write MODELS.md from the manifests
	go run ./manifests/modelsmd -o MODELS.md

.PHONY: repro
repro: build ## rebuild every published container whose source is here and compare every digest
	@for m in manifests/published/*.json; do bin/jnsc repro $$m --source $(TINY) $(addprefix --source ,$(wildcard $(MODELS))) 2>/dev/null || { \
		case $$? in 3) echo "$$m: its source is not here (make models)";; *) bin/jnsc repro $$m --source $(TINY) $(addprefix --source ,$(wildcard $(MODELS))); exit 1;; esac; }; done

.PHONY: release
release: ## reproducible binaries of HEAD for all platforms into ./bin/release, with bill of materials and checksums; PLATFORMS="linux/amd64 …"
	go run ./cmd/internal/release -o bin/release -toolchain $(TOOLCHAIN) $(if $(PLATFORMS),-platforms "$(PLATFORMS)")

.PHONY: stream-bench
stream-bench: build ## pairs of runs beside llama.cpp with a mapped file, both limited to 1 GiB, cold; as root, CGROUP=/sys/fs/cgroup/memory; PAIRS=3, PEER_N=6 tokens of llama.cpp
	go build -trimpath -o bin/streamtest ./cmd/internal/streamtest
	bin/streamtest -shape full -dir "$(STREAM_DIR)" -jnsc bin/jnsc -jns-run bin/jns-run -memory 1GiB -cgroup "$(CGROUP)" -peer "$$(cmd/internal/peer/build/build.sh)" $(if $(PAIRS),-pairs $(PAIRS)) $(if $(PEER_N),-peer-n $(PEER_N))
