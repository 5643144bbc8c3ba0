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

# From 2026 on networks may come as a list: [('f','a.onnx')].
case $onnx in
\[*\(*\(*) echo "run_instance.sh: several networks: psafe answers queries about one" >&2; echo unknown >"$results"; exit 0 ;;
\[*) onnx=$(printf '%s\n' "$onnx" | sed "s/^\[ *([^,]*, *['\"]\(.*\)['\"] *) *\]\$/\1/") ;;
esac
# A name that begins with a dash is no flag, and one with = no network and its file.
case $onnx in /*) ;; *) onnx=./$onnx ;; esac
case $query in /*) ;; *) query=./$query ;; esac
# Types such as float32 are taken for real numbers: answers are about real arithmetic, and
# about the network as psafe rounds it.
if ! "$psafe" verify "$query" --network "$onnx" --timeout "$timeout" --as-real --as-rounded >"$work/out"; then
	echo error >"$results"
	exit 0
fi
awk '
	NR == 1 { sub(/^timed-out$/, "timeout"); print; next }
	NF == 3 { letter = ++variable == 1 ? "X" : "Y"; i = 0; next } # X Real [5]
	{ printf "%s(%s_%d %s)", variable == 1 && i == 0 ? "(" : "\n ", letter, i++, $1 }
	END { if (variable) print ")" }
' "$work/out" >"$results"
