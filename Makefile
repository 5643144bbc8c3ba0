# psafe: see README.md. "make test" is all that continuous integration runs.

GO          ?= go
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK ?= golang.org/x/vuln/cmd/govulncheck@v1.9.0
# The vector loops of package fallback are made with Go's experiment "simd". Go's compatibility
# promise does not cover it: a version of Go that has it no more builds the plain loops.
GOEXPERIMENT ?= $(shell GOEXPERIMENT=simd $(GO) list simd/archsimd >/dev/null 2>&1 && echo simd)
export GOEXPERIMENT
# Go 1.26 with that experiment restores the wide registers of a goroutine that a signal preempted and
# leaves their upper halves in use, which makes scalar code two to three times as slow on Intel's
# processors, until a vector loop ends. Loops of psafe call functions often enough to do without.
ifeq ($(GOEXPERIMENT),simd)
export GOFLAGS := $(GOFLAGS) -ldflags=-X=runtime.godebugDefault=asyncpreemptoff=1
endif
PLATFORMS   ?= linux/amd64 linux/arm64 windows/amd64 darwin/arm64

.PHONY: test deep night gpu build deps deps-deep format vet lint vulncheck cross unit plain unit-deep race simd gpucode rusticl bench mutants mutants-drawn fuzz cover testdata paper

# What every change must pass: four minutes (docs/performance.md, Tests). Tests do a tenth of
# their random cases and a chosen few of the others (internal/testscale). Left to make deep, which
# draws a sample of it by the date, and make night, which does all of it:
#   TestPaperQuick         all experiments of psafe paper
#   TestCheckVCAS          a grid, certified and checked: 10 minutes of processor time
#   TestRealConvolutions   released convolutional networks beside an independent program
#   TestDevicesAgree, TestContradictions, TestResultsOfAnyEngines, TestRealConsistency: auto with sums
#   of neurons
#   TestOclgrind/optimised and /unoptimised, TestOclgrindMutants, most broken kernels of package gpu
#   the cubic and the images within 0.001 of TestCheckSums
#   of cmd/psafe: bombs that fill memory or resemble others, that a device gives the same bytes twice,
#   crosscheck of glyphs-64-32-10, a file cut before its last line end for each method, psafe devices
#   with each lie about sizes, most endings of a driver in a run, special files in a process of their
#   own, a second kill of a campaign's shards, and SIGINT of one, a driver that ends a shard, a signal
#   while a driver compiles, and notes of TestUnknowns that offer no more than a statistical interval
# and the race detector, the vector loops one by one, the code for GPUs, the second OpenCL driver,
# the other platforms, make release-check and the mutants (that their tables apply is tested here).
test:
	@for s in deps format vet lint plain unit; do scripts/timed.sh "make test" $$s $(MAKE) --no-print-directory $$s || exit 1; done
	@echo "make test: passed"

# What a change must pass before it is called done: at most three quarters of an hour. Beside what
# make test does not do at all, a sample drawn by the date: one test in six does all its cases, and
# DRAWN mutants of files that changed since the last tag, and as many others, must be noticed.
# "make deep DAY=2026-11-23" draws what was drawn that day.
DAY ?= $(shell date +%F)
DRAWN ?= 40
DEEP = deps-deep format vet lint cross unit-deep race simd gpucode rusticl $(shell grep -o '^release-check' Makefile) mutants-drawn
deep:
	@for s in $(DEEP); do scripts/timed.sh "make deep" $$s $(MAKE) --no-print-directory DAY=$(DAY) $$s || exit 1; done
	@echo "make deep: passed"

# Everything there is: all cases of all tests, all mutants. Hours; interrupted, it goes on where it was.
night:
	@GO="$(GO)" scripts/night.sh

build:
	CGO_ENABLED=0 $(GO) build -o bin/psafe ./cmd/psafe

# Installs PoCL, Oclgrind, a C compiler and NumPy (deps-deep: torch too) where apt may;
# says what is skipped where it may not.
deps:
	@scripts/deps.sh

deps-deep:
	@scripts/deps.sh deep

format:
	@files="$$(gofmt -l $$(git ls-files '*.go'))"; if [ -n "$$files" ]; then echo "gofmt -w needed: $$files"; exit 1; fi

vet:
	$(GO) vet ./... ./testdata ./testdata/gen

# staticcheck comes from the module proxy; without it this step says so.
lint:
	@if $(GO) run $(STATICCHECK) -version >/dev/null 2>&1; then $(GO) run $(STATICCHECK) ./... ./testdata ./testdata/gen; \
	else echo "SKIPPED staticcheck: $(STATICCHECK) cannot be fetched"; fi

# Known vulnerabilities in what the program calls, of Go's own library too: those of the day, so this
# is no part of make test. govulncheck comes from the module proxy, and what it knows from
# vuln.go.dev; without either this says so.
vulncheck:
	@if ! $(GO) run $(GOVULNCHECK) -version >/dev/null 2>&1; then echo "SKIPPED govulncheck: $(GOVULNCHECK) cannot be fetched"; exit 0; fi; \
	said="$$($(GO) run $(GOVULNCHECK) ./... 2>&1)"; status=$$?; \
	case "$$said" in *"fetching vulnerabilities"*) echo "SKIPPED govulncheck: its database cannot be reached: $$said" | head -n 1; exit 0;; esac; \
	echo "$$said"; exit $$status

cross:
	@for p in $(PLATFORMS); do echo "build $$p"; \
	  CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -o /dev/null ./cmd/psafe || exit 1; done
	@echo "vet the tests of windows"; CGO_ENABLED=0 GOOS=windows $(GO) vet ./...
	@echo "build without OpenCL"; CGO_ENABLED=0 $(GO) build -tags noopencl -o /dev/null ./cmd/psafe

# What make test runs has memory to spare and little time: Go's tools and the tests collect garbage a
# fraction as often, below GOMEMLIMIT. make deep tests the program as users run it.
vet lint plain unit: export GOGC ?= 400
vet lint plain unit: export GOMEMLIMIT ?= 1GiB

# The definition of every operation, in a build that has nothing else.
plain:
	CGO_ENABLED=0 GOEXPERIMENT= $(GO) test -vet=off -timeout 1h ./fallback

# All packages as the program ships: without cgo, with vector loops. The time-out is for what hangs, not
# for a machine that is busy; vet has had its own step.
unit:
	CGO_ENABLED=0 $(shell scripts/deps.sh env) $(GO) test -vet=off -timeout 2h ./...

unit-deep:
	PSAFE_DEEP=$(DAY) CGO_ENABLED=0 $(shell scripts/deps.sh env) $(GO) test -vet=off -timeout 12h ./...

# The suite again under the race detector, which needs cgo and a C compiler, with
# few cases: it looks for races, the step before for wrong numbers.
race:
	@if command -v cc >/dev/null 2>&1; then PSAFE_TEST_FACTOR=0.15 CGO_ENABLED=1 $(shell scripts/deps.sh env) $(GO) test -vet=off -race -short -timeout 12h ./...; \
	else echo "SKIPPED race detector: no C compiler"; fi

# All vector loops and the plain ones give the same bits: all cases, with the processor kept
# to each set of instructions, as far as it has it.
simd:
	@if [ "$$($(GO) env GOARCH)" != amd64 ]; then echo "SKIPPED simd: only on amd64"; else \
	for v in avx512 avx2 none; do \
	if [ $$v = avx512 ] && ! grep -qw avx512dq /proc/cpuinfo; then echo "SKIPPED avx512: not this processor's"; continue; fi; \
	CGO_ENABLED=0 PSAFE_DEEP=$(DAY) PSAFE_VECTOR=$$v GOEXPERIMENT=simd $(GO) test -timeout 12h ./fallback || exit 1; done; fi

# What clang makes of the kernels for four GPUs, held to internal/gpucode/limits.txt.
gpucode:
	CGO_ENABLED=0 $(GO) run ./internal/gpucode

# Devices, crosscheck and the tiled kernels on a second OpenCL driver.
rusticl:
	@GO="$(GO)" scripts/rusticl.sh

# What a GPU tells, as tables, in at most twelve minutes; ON=small on PoCL, to see that it runs.
ON ?= gpu
gpu:
	@GO="$(GO)" scripts/gpu.sh $(ON)

bench:
	CGO_ENABLED=0 $(GO) test -run '^$$' -bench . ./fallback ./gpu ./host/prove/probability

# Breaks one push, sign, index or formula at a time; each must fail a test. Slow. The plain
# loops are what is broken, so they are all that is built.
mutants:
	CGO_ENABLED=0 GOEXPERIMENT= $(GO) run ./internal/mutants

mutants-drawn:
	CGO_ENABLED=0 GOEXPERIMENT= $(GO) run ./internal/mutants -draw $(DRAWN) -day $(DAY) -since "$$(git describe --tags --abbrev=0 2>/dev/null)"

# Runs every fuzz target for so long, one after the other, and prints how often each ran.
FUZZTIME ?= 1m
fuzz:
	@scripts/fuzz.sh $(FUZZTIME)

# What the tests of make test run of all packages, and the functions that nothing runs.
cover:
	@mkdir -p bin
	CGO_ENABLED=0 $(shell scripts/deps.sh env) $(GO) test -vet=off -timeout 2h -coverpkg=./... -coverprofile=bin/cover.out ./...
	@$(GO) tool cover -func=bin/cover.out | awk '$$NF == "0.0%" { print "nothing covers " $$1 " " $$2 } END { print }'

# Makes testdata again, byte for byte.
testdata: build
	PSAFE=$(CURDIR)/bin/psafe testdata/make.sh

# Makes docs/paper.md and its figures again: three minutes with PoCL (DEVICE=0:0).
DEVICE ?= auto
paper: build
	rm -rf paper-out
	bin/psafe paper all --out paper-out --device $(DEVICE)
	cp paper-out/paper.md docs/paper.md
	cp paper-out/figures/*.svg docs/figures/

.PHONY: install release wheels release-check

# DESTDIR is for packagers. "go install ./cmd/psafe" puts the program into Go's own folder.
PREFIX ?= /usr/local
SHARE = $(DESTDIR)$(PREFIX)/share
install: build
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(SHARE)/man/man1" "$(SHARE)/bash-completion/completions" "$(SHARE)/zsh/site-functions" "$(SHARE)/fish/vendor_completions.d"
	install -m 755 bin/psafe "$(DESTDIR)$(PREFIX)/bin/psafe"
	bin/psafe man --overwrite "$(SHARE)/man/man1"
	bin/psafe completion bash > "$(SHARE)/bash-completion/completions/psafe"
	bin/psafe completion zsh > "$(SHARE)/zsh/site-functions/_psafe"
	bin/psafe completion fish > "$(SHARE)/fish/vendor_completions.d/psafe.fish"

# Archives, wheels and SHA256SUMS in dist, the same bytes from the same commit. On Linux a program
# that can open OpenCL needs the C library; the static ones have no OpenCL and need nothing.
STATIC ?= linux/amd64/static linux/arm64/static
release:
	rm -rf dist
	$(GO) run ./internal/release -out dist $(PLATFORMS) $(STATIC)

# The wheels alone: pip install dist/psafe-...whl
wheels:
	rm -rf dist
	$(GO) run ./internal/release -out dist -wheels $(PLATFORMS) $(STATIC)

# Builds releases of HEAD twice, in two folders and with two caches, compares them, and tries a wheel
# in a virtual environment.
release-check:
	@scripts/release-check.sh linux/amd64 linux/amd64/static
