#!/bin/sh
# Runs every fuzz target of the module for a time, one after the other, on one core, and
# prints how often each ran: scripts/fuzz.sh 10m [PATTERN]. What a target finds lies in the
# testdata/fuzz of its package afterwards, and the status is 1. Inputs are made smaller with
# a few runs only: with a minute for each, as is Go's default, a short time goes into nothing
# else.
time=${1:-1m}
pattern=${2:-.}
failed=0
total=0
for file in $(git ls-files '*_test.go' | xargs grep -l '^func Fuzz'); do
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file" | grep -E "$pattern"); do
		out=$(CGO_ENABLED=0 nice -n 19 go test "./$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 100x -parallel=1 2>&1)
		status=$?
		runs=$(printf '%s\n' "$out" | sed -n 's/.*execs: \([0-9]*\).*/\1/p' | tail -n 1)
		total=$((total + ${runs:-0}))
		if [ $status -eq 0 ]; then
			echo "$(dirname "$file") $target: ${runs:-0} executions in $time"
		else
			failed=1
			echo "$(dirname "$file") $target: FAILED after ${runs:-0} executions"
			printf '%s\n' "$out" | tail -n 20
		fi
	done
done
echo "all: $total executions"
exit $failed
