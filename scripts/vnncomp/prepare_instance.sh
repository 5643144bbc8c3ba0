#!/bin/sh
# VNN-COMP: prepare_instance.sh v1 CATEGORY ONNX VNNLIB. Nothing is prepared: it says whether
# the files are there and psafe runs.
set -eu
[ "${1:-}" = v1 ] && [ $# -eq 4 ] || { echo "prepare_instance.sh: expected v1 CATEGORY ONNX VNNLIB" >&2; exit 1; }
psafe=${PSAFE:-$(dirname "$0")/../../bin/psafe}
"$psafe" --version >&2
for file in "$3" "$4"; do
	case $file in
	\[*) ;; # a list of networks, which run_instance.sh takes apart
	*) [ -r "$file" ] || { echo "prepare_instance.sh: $file cannot be read" >&2; exit 1; } ;;
	esac
done
