#!/bin/sh
# VNN-COMP: install_tool.sh v1. Builds psafe with the Go toolchain into this checkout's bin.
set -eu
[ "${1:-}" = v1 ] || { echo "install_tool.sh: expected version v1, got '${1:-}'" >&2; exit 1; }
cd "$(dirname "$0")/../.."
mkdir -p bin
CGO_ENABLED=0 GOEXPERIMENT=simd go build -ldflags=-X=runtime.godebugDefault=asyncpreemptoff=1 -o bin/psafe ./cmd/psafe
bin/psafe --version
