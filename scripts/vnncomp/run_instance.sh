#!/bin/sh
# VNN-COMP: run_instance.sh v1 CATEGORY ONNX VNNLIB RESULTS TIMEOUT. The first line of RESULTS
# is sat, unsat, unknown, timeout or error, and after sat comes the counterexample as
# ((X_0 value)(X_1 value)...(Y_0 value)). The status is 0 for all of them.
set -u
[ "${1:-}" = v1 ] && [ $# -eq 6 ] || { echo "run_instance.sh: expected v1 CATEGORY ONNX VNNLIB RESULTS TIMEOUT" >&2; exit 1; }
onnx=$3 query=$4 results=$5 timeout=$6
psafe=${PSAFE:-$(dirname "$0")/../../bin/psafe}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# A name that begins with a dash is no flag, and one with = no network and its file.
local_file() { case $1 in /*) printf '%s\n' "$1" ;; *) printf './%s\n' "$1" ;; esac }
query=$(local_file "$query")
# From 2026 on networks may come as a list: [('f', 'a.onnx'), ('g', 'b.onnx')].
set --
case $onnx in
\[*)
	printf '%s\n' "$onnx" | awk '{ gsub(/\) *, *\(/, ")\n("); print }' |
		sed "s/^\[* *( *['\"]\([^'\"]*\)['\"] *, *['\"]\(.*\)['\"] *) *\]*\$/\1=\2/" >"$work/networks"
	while IFS= read -r network; do
		set -- "$@" --network "${network%%=*}=$(local_file "${network#*=}")"
	done <"$work/networks"
	;;
*) set -- --network "$(local_file "$onnx")" ;;
esac
# Types such as float32 are taken for real numbers: answers are about real arithmetic, and
# about the network as psafe rounds it.
if ! "$psafe" verify "$query" "$@" --timeout "$timeout" --as-real --as-rounded >"$work/out"; then
	echo error >"$results"
	exit 0
fi
# Inputs of all networks come first, then outputs of all.
awk '
	NR == 1 { sub(/^timed-out$/, "timeout"); print; next }
	NF == 3 { output = variable++ % 2; next } # X Real [5]
	output { y[ny++] = $1; next }
	{ x[nx++] = $1 }
	END {
		for (i = 0; i < nx; i++) printf "%s(X_%d %s)", i ? "\n " : "(", i, x[i]
		for (i = 0; i < ny; i++) printf "\n (Y_%d %s)", i, y[i]
		if (variable) print ")"
	}
' "$work/out" >"$results"
