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
# ccache sees through precompiled headers only when told to.
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
# Clones in different folders share what does not depend on where they lie.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1}
arguments=(--build --preset "$preset" -j "${JOBS:-$(nproc)}")
if (($# > 0)); then
  arguments+=(--target "$@")
fi
cmake "${arguments[@]}"
