#!/usr/bin/env bash
# night.sh: every test with all its cases, every mutant, and the steps of make deep that have no
# smaller form. It takes hours and can be interrupted: what passed for these very files is not done
# again (bin/night, a file for each step). A step that fails does not keep the others from running.
set -u
tree=$(git write-tree) || exit 1 # of the index: whatever is not in it is not tested
git diff --quiet && [ -z "$(git ls-files --others --exclude-standard)" ] ||
  { echo "make night: commit or stage everything first, so that what passed has a name"; exit 1; }
done=bin/night/$tree
mkdir -p "$done"
failed=0

step() { # NAME COMMAND...
  local name=$1 stamp=$done/${1//\//_}
  shift
  if [ -e "$stamp" ]; then echo "make night: $name passed before"; return; fi
  if scripts/timed.sh "make night" "$name" "$@"; then touch "$stamp"; else failed=$((failed + 1)); fi
}

go=${GO:-go}
for s in deps-deep format vet lint cross gpucode rusticl simd race release-check; do
  step "$s" make --no-print-directory DAY=1 "$s"
done
export CGO_ENABLED=0
for package in $($go list ./...); do
  step "$package" env PSAFE_DEEP=1 $(scripts/deps.sh env) $go test -vet=off -timeout 12h "$package"
done
for table in $(git ls-files '*testdata/mutants.txt'); do
  step "$table" env GOEXPERIMENT= $go run ./internal/mutants "$table"
done
[ $failed = 0 ] || { echo "make night: $failed steps failed"; exit 1; }
echo "make night: passed"
