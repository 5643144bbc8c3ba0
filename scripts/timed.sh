#!/usr/bin/env bash
# timed.sh WHO STEP COMMAND...  runs a command and says how long it took: on the
# clock, and of the processors together, which other work on the machine hardly
# changes.
set -u
who=$1 step=$2
shift 2
TIMEFORMAT="%R %U %S"
exec 3>&1 4>&2
times=$({ time "$@" 1>&3 2>&4; } 2>&1)
status=$?
read -r real user system <<<"${times//,/.}"
if [ $status = 0 ]; then result=passed; else result=FAILED; fi
awk -v l="$who: $step $result" -v r="$real" -v u="$user" -v s="$system" \
  'BEGIN { printf "%s: %.0f s, processor time %.0f s\n", l, r, u + s }'
exit $status
