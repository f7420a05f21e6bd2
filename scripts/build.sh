#!/usr/bin/env bash
# scripts/build.sh PRESET [TARGET...]: configures a preset and builds it (what the preset names, or the targets given).
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:?usage: scripts/build.sh PRESET [TARGET...]}
shift

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! cmake --preset "$preset" >"$log" 2>&1; then
  cat "$log"
  exit 1
fi
arguments=(--build --preset "$preset" -j "${JOBS:-$(nproc)}")
if (($# > 0)); then
  arguments+=(--target "$@")
fi
cmake "${arguments[@]}"
