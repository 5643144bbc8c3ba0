# psafe: see README.md. "make test" is all that continuous integration runs.

GO          ?= go
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
PLATFORMS   ?= linux/amd64 linux/arm64 windows/amd64 darwin/arm64

.PHONY: test build deps format vet lint cross unit race simd bench mutants testdata paper

# Everything; under ten minutes on two cores.
test: deps format vet lint cross unit race simd
	@echo "make test: passed"

build:
	CGO_ENABLED=0 $(GO) build -o bin/psafe ./cmd/psafe

# Installs PoCL, Oclgrind and a C compiler where apt may; says what is skipped
# where it may not.
deps:
	@scripts/deps.sh

format:
	@files="$$(gofmt -l $$(git ls-files '*.go'))"; if [ -n "$$files" ]; then echo "gofmt -w needed: $$files"; exit 1; fi

vet:
	$(GO) vet ./... ./testdata ./testdata/gen

# staticcheck comes from the module proxy; without it this step says so.
lint:
	@if $(GO) run $(STATICCHECK) -version >/dev/null 2>&1; then $(GO) run $(STATICCHECK) ./... ./testdata ./testdata/gen; \
	else echo "SKIPPED staticcheck: $(STATICCHECK) cannot be fetched"; fi

cross:
	@for p in $(PLATFORMS); do echo "build $$p"; \
	  CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -o /dev/null ./cmd/psafe || exit 1; done

# The whole suite as the program ships: without cgo.
unit:
	CGO_ENABLED=0 $(shell scripts/deps.sh env) $(GO) test ./...

# The suite again under the race detector, which needs cgo and a C compiler, with
# fewer random cases: it looks for races, the step before for wrong numbers.
race:
	@if command -v cc >/dev/null 2>&1; then PSAFE_TEST_FACTOR=0.15 CGO_ENABLED=1 $(shell scripts/deps.sh env) $(GO) test -race -short ./...; \
	else echo "SKIPPED race detector: no C compiler"; fi

# The optional build with Go's SIMD packages gives the same bits.
simd:
	@if [ "$$($(GO) env GOARCH)" = amd64 ]; then CGO_ENABLED=0 GOEXPERIMENT=simd $(GO) test ./fallback; \
	else echo "SKIPPED simd: only on amd64"; fi

bench:
	CGO_ENABLED=0 $(GO) test -run '^$$' -bench . ./fallback ./gpu ./host/measure

# Breaks one push, sign, index or formula at a time; each must fail a test. Slow.
mutants:
	$(GO) run ./internal/mutants

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

.PHONY: install release release-check

# DESTDIR is for packagers. "go install ./cmd/psafe" puts the program into Go's own folder.
PREFIX ?= /usr/local
install: build
	install -d "$(DESTDIR)$(PREFIX)/bin"
	install -m 755 bin/psafe "$(DESTDIR)$(PREFIX)/bin/psafe"

# Archives and SHA256SUMS in dist, the same bytes from the same commit. On Linux a program
# that can open OpenCL needs the C library; the static ones have no OpenCL and need nothing.
STATIC ?= linux/amd64/static linux/arm64/static
release:
	rm -rf dist
	$(GO) run ./internal/release -out dist $(PLATFORMS) $(STATIC)

# Builds releases of HEAD twice, in two folders and with two caches, and compares them.
release-check:
	@scripts/release-check.sh linux/amd64 linux/amd64/static
