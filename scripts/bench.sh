#!/usr/bin/env bash
# scripts/bench.sh [NAME...]: builds the benchmarks and runs them all, or those named (without _bench).
set -euo pipefail
cd "$(dirname "$0")/.."

if (($# > 0)); then
  names=("${@/%/_bench}")
  scripts/build.sh release "${names[@]}"
else
  scripts/build.sh release weft_benches
  mapfile -t names < <(find bench src -name '*_bench.cc' -exec basename {} .cc ';' | LC_ALL=C sort)
fi

for name in "${names[@]}"; do
  [[ -x build/release/bench/$name ]] || continue # left out of the build: its library is not installed
  echo "== $name"
  "build/release/bench/$name"
done
