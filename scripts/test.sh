#!/usr/bin/env bash
# scripts/test.sh [all]: everything a change must pass; with `all` the long versions too (the whole tree under clang-tidy
# and the sanitizers, large random searches, long fuzzing: hours). Stops at the first stage that fails, and shows its
# log; the logs stay in build/logs. Quick stages come first. FUZZ_RUNS (2000) is the number of inputs for each fuzz
# target. V=1 shows all output.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ $# -gt 1 || ${1:-all} != all ]]; then
  echo "usage: scripts/test.sh [all]" >&2
  exit 2
fi

export JOBS=${JOBS:-$(nproc)}
export FUZZ_RUNS=${FUZZ_RUNS:-2000}
export FUZZ_SEED=${FUZZ_SEED:-1} # the same change has the same verdict; `make fuzz` is where new inputs are looked for
mkdir -p build/logs
began=$SECONDS
stages=0
facts=()

# stage NAME COMMAND...: runs one stage with its output in a log; prints its time and the lines that sum it up.
stage() {
  local name=$1
  shift
  local log=build/logs/${name// /-}.log
  local start=$SECONDS
  local status=0
  stages=$((stages + 1))
  printf '%-20s ' "$name"
  if [[ ${V:-} == 1 ]]; then
    printf '\n'
    "$@" 2>&1 | tee "$log" || status=$?
    printf '%-20s ' "$name"
  else
    "$@" >"$log" 2>&1 || status=$?
  fi
  if ((status != 0)); then
    printf 'FAILED after %d s\n' $((SECONDS - start))
    [[ ${V:-} == 1 ]] || tail -n 300 "$log"
    echo "weft tests: FAILED in stage '$name' after $((SECONDS - began)) s (log: $log)"
    exit 1
  fi
  printf 'ok %4d s\n' $((SECONDS - start))
  [[ ${V:-} == 1 ]] || sed -n -E \
    -e '/^[0-9]+% tests passed/s/^/    /p' -e '/^(clang-tidy|fuzz|format|layers|draws|words|skips):/s/^/    /p' \
    -e '/warning: /s/^/    /p' "$log"
}

# The number of GoogleTest cases that a preset ran, as a fact for the last line (ctest counts shards and scripts).
count_tests() {
  local count
  count=$(sed -n -E 's/^\[  PASSED  \] ([0-9]+) tests?\.$/\1/p' "build/$1/Testing/Temporary/LastTest.log" |
    awk '{sum += $1} END {print sum + 0}')
  facts+=("$1 $count tests")
}

# The output of each test that failed, last, so that it is in the log's tail.
show_failed() {
  local folder=build/$1/Testing/Temporary
  local name
  while IFS=: read -r _ name; do
    printf '\n==== %s\n' "$name"
    awk -v test=" Test: $name" 'index($0, test) { seen = 1 } seen { print } seen && /^Test time =/ { exit }' \
      "$folder/LastTest.log" | tail -n 60
  done < <(head -n 8 "$folder/LastTestsFailed.log")
}

# Half of the time of the end-to-end tests is spent waiting for other programs, so twice as many run at a time.
run_ctest() {
  local jobs=$JOBS
  [[ $1 == product ]] && jobs=$((JOBS * 2))
  ctest --preset "$1" -j "$jobs" --no-tests=error && return
  show_failed "$1"
  retry_alone "$1"
}

# End-to-end tests share the machine with the daemons of others. Up to three that failed beside them run again by
# themselves, once: what fails there too is a defect. The summary shows that it happened, because it is a defect as well.
retry_alone() {
  local folder=build/$1/Testing/Temporary
  local failed
  failed=$(cut -d : -f 2 "$folder/LastTestsFailed.log")
  [[ $1 == product && -n $failed ]] || return 1
  if (($(wc -l <<<"$failed") > 3)) || grep -qv '^e2e\.' <<<"$failed"; then return 1; fi
  mv "$folder/LastTest.log" "$folder/LastTest.first.log"
  ctest --preset "$1" -j 1 --rerun-failed || {
    show_failed "$1"
    return 1
  }
  cat "$folder/LastTest.first.log" >>"$folder/LastTest.log"
  echo "warning: failed beside other tests, passed alone: ${failed//$'\n'/ }"
}

# ThreadSanitizer of clang 14 cannot always cope with the address randomization of newer kernels.
tsan_ctest() {
  if setarch --addr-no-randomize true 2>/dev/null; then
    export -f run_ctest show_failed retry_alone
    # shellcheck disable=SC2016 # the inner shell expands it
    setarch --addr-no-randomize bash -c 'set -euo pipefail; run_ctest "$1"' _ "$1"
  else
    run_ctest "$1"
  fi
}

# Skipped tests are counted; one that tests/permitted_skips.txt does not name fails.
check_skips() {
  python3 scripts/skips.py "build/$1/Testing/Temporary/LastTest.log"
}

run_tests() {
  stage "$1 tests" "${2:-run_ctest}" "$1"
  count_tests "$1"
  stage "$1 skips" check_skips "$1"
}

stage "dependencies" scripts/install-deps.sh "${1:-test}"
if [[ ${1:-} == all ]]; then
  stage "kubernetes" scripts/kubernetes.sh
  stage "containerd" scripts/containerd.sh
fi
stage "format" scripts/format.sh --check
stage "layers" python3 tests/layers.py
stage "draws" python3 tests/draws.py
stage "words" python3 tests/words.py
stage "product build" scripts/build.sh product
run_tests product
stage "asan-ubsan build" scripts/build.sh asan-ubsan
run_tests asan-ubsan
stage "tsan build" scripts/build.sh tsan
run_tests tsan tsan_ctest
stage "clang-tidy" make lint
stage "fuzz" scripts/fuzz.sh
facts+=("fuzz $(sed -n 's/^fuzz: \([0-9]* targets, .*\)/\1/p' build/logs/fuzz.log)")

if [[ ${1:-} == all ]]; then
  stage "clang-tidy all" make lint-all
  stage "benchmarks build" scripts/build.sh release all
  stage "long tests" scripts/long-tests.sh
  stage "asan-all build" scripts/build.sh asan-all
  run_tests asan-all
  stage "tsan-all build" scripts/build.sh tsan-all
  run_tests tsan-all tsan_ctest
  unset FUZZ_RUNS FUZZ_SEED
  stage "fuzz build" scripts/build.sh fuzz
  FUZZ_PRESET=fuzz FUZZ_SECONDS=${FUZZ_SECONDS:-600} stage "long fuzz" scripts/fuzz.sh
fi

printf -v list ', %s' "${facts[@]}"
echo "weft tests: passed, $stages stages in $((SECONDS - began)) s$list"
