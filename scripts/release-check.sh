#!/usr/bin/env bash
# release-check.sh [platform ...]
#
# Builds the release of the last commit twice, in clones in different folders, the second
# time with an empty build cache and other settings, and fails unless all files are the
# same. Then builds it from a source archive without history, which must work as well.
set -euo pipefail
[ $# -gt 0 ] || set -- linux/amd64
root=$(git rev-parse --show-toplevel)
tmp=$(mktemp -d)
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT

git clone -q "$root" "$tmp/one"
git clone -q --depth 1 "file://$root" "$tmp/another/folder/two"
mkdir "$tmp/archive"
git -C "$root" archive HEAD | tar -x -C "$tmp/archive"

echo "release-check: first build of $*"
(cd "$tmp/one" && go run ./internal/release -out "$tmp/dist1" "$@")
echo "release-check: second build, with an empty cache"
(cd "$tmp/another/folder/two" && git tag v9.9.9 &&
  TZ=Asia/Kolkata GOFLAGS=-tags=other GOAMD64=v2 GOCACHE="$tmp/cache" go run ./internal/release -out "$tmp/dist2" "$@" >/dev/null)
diff -r "$tmp/dist1" "$tmp/dist2" || { echo "release-check: FAILED: two builds of one commit differ"; exit 1; }
(cd "$tmp/dist1" && sha256sum --check --quiet SHA256SUMS)

echo "release-check: build from a source archive"
(cd "$tmp/archive" && go run ./internal/release -out "$tmp/dist3" "$1" >/dev/null)
echo "release-check: passed"
