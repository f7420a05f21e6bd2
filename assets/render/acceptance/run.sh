#!/bin/sh
# Runs every step in order and prints a summary. Results: one JSON line per measurement in $RESULTS.
# usage: run.sh [STEP...]; steps: oob hosts wiring ping gpu rdma storage nccl
set -u
HERE=$(cd "$(dirname "$0")" && pwd)
RESULTS=${RESULTS:-$PWD/results.jsonl}
export HERE RESULTS
[ $# -gt 0 ] || set -- oob hosts wiring ping gpu rdma storage nccl
bad=0
for step in "$@"; do
  script="$HERE/$step.sh"
  if [ ! -f "$script" ]; then
    echo "run.sh: unknown step $step" >&2
    exit 2
  fi
  echo "== $step"
  sh "$script" || {
    bad=1
    echo "== $step failed"
  }
done
passed=$(grep -c '"pass":true' "$RESULTS" 2>/dev/null)
failed=$(grep -c '"pass":false' "$RESULTS" 2>/dev/null)
echo "${passed:-0} passed, ${failed:-0} failed; see $RESULTS"
exit $bad
