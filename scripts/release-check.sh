#!/usr/bin/env bash
# release-check.sh [platform ...]
#
# Builds the release of the last commit twice, in clones in different folders, the second
# time with an empty build cache and other settings, and fails unless all files are the
# same. Then builds it from a source archive without history, which must work as well, and
# tries the wheel of the first platform in a fresh virtual environment, without a network.
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
# NumPy is the system's: no registry is asked.
python=$(for p in ${PSAFE_PYTHON:-} /usr/bin/python3 python3; do "$p" -c 'import ensurepip, numpy, venv' >/dev/null 2>&1 && echo "$p" && break; done || true)
wheel=$(ls "$tmp"/dist1/psafe-*-manylinux*.whl 2>/dev/null | head -n 1 || true)
if [ -z "$python" ] || [ -z "$wheel" ] || [ "$1" != "$(go env GOHOSTOS)/$(go env GOHOSTARCH)" ]; then
  echo "SKIPPED trying a wheel: no Python with venv and NumPy (apt install python3-venv python3-numpy), or no wheel of this platform"
else
  echo "release-check: pip install $(basename "$wheel")"
  "$python" -m venv --system-site-packages "$tmp/venv"
  "$tmp/venv/bin/pip" install --quiet --disable-pip-version-check --no-index "$wheel"
  "$tmp/venv/bin/psafe" version
  mkdir "$tmp/tried"
  (cd "$tmp" && "$tmp/venv/bin/python" "$root/python/testdata/module_cases.py" "$tmp/tried" "$root/testdata")
fi
echo "release-check: passed"
