#!/usr/bin/env bash
# scripts/fuzz.sh [NAME...]: runs every fuzz target of the preset, or those named (without _fuzz), for FUZZ_SECONDS each or for FUZZ_RUNS
# inputs each, as many at once as there are cores. The preset must be built. New inputs go to build/fuzzing/corpus/NAME,
# crashing inputs and the log to build/fuzzing/findings/NAME. With FUZZ_SEED and FUZZ_RUNS a run can be repeated: it
# then starts from the tracked seeds alone.
set -euo pipefail
cd "$(dirname "$0")/.."

export FUZZ_PRESET=${FUZZ_PRESET:-asan-ubsan}
export FUZZ_SECONDS=${FUZZ_SECONDS:-60}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

fuzz_one() {
  local name=$1
  local corpus=build/fuzzing/corpus/$name
  local findings=build/fuzzing/findings/$name
  local limit=-max_total_time=$FUZZ_SECONDS
  local keep=-keep_seed=0
  if [[ -n ${FUZZ_RUNS:-} ]]; then
    limit=-runs=$FUZZ_RUNS
    keep=-keep_seed=1 # without feedback from the modules nearly every seed looks like the first
    rm -rf "$corpus"
  fi
  mkdir -p "$corpus" "$findings"
  local arguments=("$limit" "$keep" -max_len=65536 -rss_limit_mb=2048 -timeout=20
    -print_final_stats=1 -artifact_prefix="$findings/")
  if [[ -n ${FUZZ_SEED:-} ]]; then
    arguments+=(-seed="$FUZZ_SEED")
  fi
  if [[ -f tests/fuzz/$name.dict ]]; then
    arguments+=(-dict="tests/fuzz/$name.dict")
  fi
  arguments+=("$corpus")
  if [[ -d tests/fuzz/corpus/$name ]]; then
    arguments+=("tests/fuzz/corpus/$name")
  fi
  if "build/$FUZZ_PRESET/tests/fuzz/${name}_fuzz" "${arguments[@]}" >"$findings/log" 2>&1; then
    echo "fuzz: $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$findings/log") inputs, nothing found"
  else
    tail -n 80 "$findings/log"
    echo "fuzz: $name: FAILED; see $findings/"
    return 1
  fi
}
export -f fuzz_one

if (($# > 0)); then
  names=("$@")
else
  mapfile -t names < <(find "build/$FUZZ_PRESET/tests/fuzz" -maxdepth 1 \( -type f -o -type l \) -name '*_fuzz' -printf '%f\n' |
    sed 's/_fuzz$//' | LC_ALL=C sort)
fi
if ((${#names[@]} == 0)); then
  echo "fuzz: no targets in build/$FUZZ_PRESET: build the preset first"
  exit 1
fi
# shellcheck disable=SC2016 # the inner shell expands it
printf '%s\n' "${names[@]}" | xargs -P "${JOBS:-$(nproc)}" -I{} bash -c 'set -euo pipefail; fuzz_one "$1"' _ {}
if [[ -n ${FUZZ_RUNS:-} ]]; then
  echo "fuzz: ${#names[@]} targets, $FUZZ_RUNS inputs each"
else
  echo "fuzz: ${#names[@]} targets, $FUZZ_SECONDS s each"
fi
