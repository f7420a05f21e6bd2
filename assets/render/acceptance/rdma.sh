#!/bin/sh
# ib_write_bw between servers on every rail, with the traffic class and GID index that jobs use. First all pairs of a unit
# (same leaf), round by round; then pairs between units (across spines). In a round each server is in one pair, and all
# pairs run concurrently, so that the fabric carries its design load.
# RDMA_ROUNDS limits the rounds of each part; POOLS lists the pools (default: all with a backend).
set -u
HERE=${HERE:-$(cd "$(dirname "$0")" && pwd)}
# shellcheck source=/dev/null
. "$HERE/env.sh"
# shellcheck source=/dev/null
. "$HERE/lib.sh"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# pair FROM TO POOL: all rails concurrently, each on its own TCP port.
pair() {
  listen=18515
  for device in $(pool_value "$3" 4 | tr ',' ' '); do
    flags="-d $device -i 1 -F --report_gbits -q 4 -s 1048576 -D ${RDMA_SECONDS:-10} -p $listen $RDMA_FLAGS"
    on "$2" "ib_write_bw $flags" > /dev/null 2>&1 < /dev/null &
    listen=$((listen + 1))
  done
  sleep "${RDMA_PAUSE:-2}"
  listen=18515
  for device in $(pool_value "$3" 4 | tr ',' ' '); do
    flags="-d $device -i 1 -F --report_gbits -q 4 -s 1048576 -D ${RDMA_SECONDS:-10} -p $listen $RDMA_FLAGS"
    # The result line: bytes, iterations, peak, average, message rate.
    on "$1" "ib_write_bw $flags $(manage "$2")" 2>/dev/null < /dev/null |
      awk 'NF == 5 && $1 ~ /^[0-9]+$/ { b = $4 } END { print b }' > "$out/$1.$2.$device" &
    listen=$((listen + 1))
  done
  wait
}

# run_round NAME POOL FILE: the file has "from to" lines.
run_round() {
  while read -r from to; do pair "$from" "$to" "$2" & done < "$3"
  wait
  least=$(pool_value "$2" 6)
  while read -r from to; do
    for device in $(pool_value "$2" 4 | tr ',' ' '); do
      at_least rdma "$1: $from to $to on $device" "$(cat "$out/$from.$to.$device" 2>/dev/null)" Gb/s "$least"
    done
  done < "$3"
}

limit() { if [ "${RDMA_ROUNDS:-$1}" -lt "$1" ]; then echo "$RDMA_ROUNDS"; else echo "$1"; fi; }

# within POOL: all units concurrently, round by round.
within() {
  largest=$(for unit in $(units "$1"); do servers "$1" "$unit" | wc -l; done | sort -n | tail -n 1)
  rounds=$(limit "$(sh "$HERE/pairs.sh" rounds "$largest")")
  round=1
  while [ "$round" -le "$rounds" ]; do
    : > "$out/pairs"
    for unit in $(units "$1"); do
      servers "$1" "$unit" > "$out/servers"
      sh "$HERE/pairs.sh" round "$round" "$(wc -l < "$out/servers")" | named "$out/servers" >> "$out/pairs"
    done
    run_round "within, round $round" "$1" "$out/pairs"
    round=$((round + 1))
  done
}

# across POOL: server i of one unit with server i of another; the last unit may be short.
across() {
  units "$1" > "$out/units"
  count=$(wc -l < "$out/units")
  rounds=$(limit "$(sh "$HERE/pairs.sh" rounds "$count")")
  round=1
  while [ "$round" -le "$rounds" ]; do
    : > "$out/pairs"
    sh "$HERE/pairs.sh" round "$round" "$count" | named "$out/units" > "$out/unit-pairs"
    while read -r a b; do
      servers "$1" "$a" > "$out/a"
      servers "$1" "$b" > "$out/b"
      paste -d ' ' "$out/a" "$out/b" | awk 'NF == 2' >> "$out/pairs"
    done < "$out/unit-pairs"
    run_round "across, round $round" "$1" "$out/pairs"
    round=$((round + 1))
  done
}

# dropped POOL: checks that no packet of the lossless class was dropped during the runs.
dropped() {
  for host in $(servers "$1"); do
    # shellcheck disable=SC2016
    lost=$(on "$host" 'for i in /sys/class/net/be*; do ethtool -S "${i##*/}"; done' |
      awk -v k="rx_prio${LOSSLESS_PRIORITY}_discards:" '$1 == k { n += $2 } END { print n + 0 }')
    equals rdma "$host packets dropped in the lossless class" "$lost" packets 0
  done
}

for pool in ${POOLS:-$(pools)}; do
  [ "$(pool_value "$pool" 4)" != - ] || continue
  within "$pool"
  [ "$ACROSS_UNITS" != yes ] || across "$pool"
  [ -z "$LOSSLESS_PRIORITY" ] || dropped "$pool"
done
exit "$FAILED"
