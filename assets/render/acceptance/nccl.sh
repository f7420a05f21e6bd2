#!/bin/sh
# nccl-tests: collectives within one server and across all servers of a pool, with Slurm if it manages the GPUs, else mpirun.
# Uses the bus bandwidth of nccl-tests, which is comparable with the bottleneck link (nccl-tests, doc/PERFORMANCE.md).
set -u
HERE=${HERE:-$(cd "$(dirname "$0")" && pwd)}
# shellcheck source=/dev/null
. "$HERE/lib.sh"
# bandwidth: GB/s of the largest message size in the output (size count type redop root time algbw busbw ...).
bandwidth() { awk '$1 ~ /^[0-9]+$/ && NF >= 12 { b = $8 } END { if (b != "") print b }'; }
# collective POOL SERVERS NAME LIMIT
collective() {
  at_least nccl "$1: $3 on $2 servers" "$(sh "$HERE/nccl/$1.sh" "$2" "$3" < /dev/null | bandwidth)" GB/s "$4"
}
for pool in $(pools); do
  [ -f "$HERE/nccl/$pool.sh" ] || continue
  several=$(pool_value "$pool" 10)
  one=$(pool_value "$pool" 11)
  nodes=$(servers "$pool" | wc -l | tr -d ' ')
  if [ "$one" != 0 ]; then collective "$pool" 1 all_reduce_perf "$one"; fi
  if [ "$several" = 0 ] || [ "$nodes" -lt 2 ]; then continue; fi
  for name in all_reduce_perf all_gather_perf reduce_scatter_perf; do
    collective "$pool" "$nodes" "$name" "$several"
  done
  collective "$pool" "$nodes" alltoall_perf "$(pool_value "$pool" 12)"
done
exit "$FAILED"
