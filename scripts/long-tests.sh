#!/usr/bin/env bash
# scripts/long-tests.sh: random searches that take from minutes to hours, in the product build: 100,000 cluster files and
# their growth, millions of scheduler steps, the large state spaces of the lease protocol, a hundred kills of each
# out-of-band operation, thousands of simulated control planes.
set -euo pipefail
cd "$(dirname "$0")/.."

tests=build/product
echo "100,000 random cluster files"
seq 0 7 | WEFT_PROPERTY_SPECS=100000 xargs -P "${JOBS:-$(nproc)}" -I{} \
  "$tests/tests/e2e_test" --gtest_brief=1 --gtest_filter='Shard/Properties.*/{}'
echo "1.5 million steps of the scheduler"
WEFT_SCHED_STEPS=1500000 "$tests/long_test" --gtest_brief=1 --gtest_filter='SchedulerProperties.*:ExplainProperty.*'
echo "Every state of the lease protocol"
"$tests/long_test" --gtest_brief=1 --gtest_also_run_disabled_tests --gtest_filter='LeaseModel*:LeaseRandom.*'
echo "10,000 seeds of the control plane's simulation"
seq 1 1250 8751 | WEFT_SEEDS=1250 xargs -P "${JOBS:-$(nproc)}" -I{} \
  env WEFT_FIRST_SEED={} "$tests/long_test" --gtest_brief=1 --gtest_filter='LongSimulation.NoInvariantIsViolated'
echo "100,000 moves of nodes between two engines"
seq 1 700 2101 | WEFT_LEASE_SEEDS=700 xargs -P "${JOBS:-$(nproc)}" -I{} \
  env WEFT_FIRST_SEED={} "$tests/long_test" --gtest_brief=1 --gtest_filter='LongSimulation.NoNodeIsUsedByTwoEngines'
echo "A hundred kills of each out-of-band operation"
WEFT_KILLS=100 "$tests/tests/e2e_test" --gtest_brief=1 --gtest_filter='*Kill*'
