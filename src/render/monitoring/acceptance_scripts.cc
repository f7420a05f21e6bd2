// The scripts, as text. They take everything of the cluster from the tables beside them; no name of it stands in them.
#include "render/monitoring/acceptance.h"

namespace weft::render::acceptance {
namespace {

constexpr std::string_view kLibrary = R"sh(# Shared by the acceptance scripts; sourced, not run. POSIX sh and awk.
# shellcheck shell=sh disable=SC2034
# HERE: this folder, set by whoever sources it. RESULTS: file of JSON lines, one a measurement.
RESULTS=${RESULTS:-results.jsonl}
REMOTE=${REMOTE:-ssh -n -o BatchMode=yes -o ConnectTimeout=10}
FAILED=0

# quote TEXT: as a JSON string, left in $quoted. Few texts need more than the marks around them, and a measurement must
# not cost a dozen processes.
quote() {
  case "$1" in
  *[\\\"[:cntrl:]]*) quoted="\"$(printf '%s' "$1" | sed 's/[\\"]/\\&/g' | tr '\n\t\r' '   ')\"" ;;
  *) quoted="\"$1\"" ;;
  esac
}

# record STEP SUBJECT VALUE UNIT LIMIT pass|fail
record() {
  if [ "$6" = pass ]; then passed=true; else passed=false; fi
  quote "$1" && line="\"step\":$quoted"
  quote "$2" && line="$line,\"subject\":$quoted"
  quote "$3" && line="$line,\"value\":$quoted"
  quote "$4" && line="$line,\"unit\":$quoted"
  quote "$5" && line="$line,\"limit\":$quoted"
  printf '{"time":%s,%s,"pass":%s}\n' "$(date +%s)" "$line" "$passed" >> "$RESULTS"
  if [ $passed = false ]; then
    FAILED=1
    echo "FAIL $1: $2: $3 $4, wanted $5" >&2
  fi
}

# at_least STEP SUBJECT VALUE UNIT LIMIT: an empty value is a failure.
at_least() {
  if [ -n "$3" ] && awk -v a="$3" -v b="$5" 'BEGIN { exit !(a + 0 >= b + 0) }'; then
    record "$1" "$2" "$3" "$4" "at least $5" pass
  else
    record "$1" "$2" "${3:-nothing}" "$4" "at least $5" fail
  fi
}

# equals STEP SUBJECT VALUE UNIT WANTED
equals() {
  if [ "$3" = "$5" ]; then
    record "$1" "$2" "$3" "$4" "$5" pass
  else
    record "$1" "$2" "${3:-nothing}" "$4" "$5" fail
  fi
}

# on HOST COMMAND: runs it there.
on() {
  # shellcheck disable=SC2086
  $REMOTE "$1" "$2"
}

# pool_value POOL COLUMN: a cell of pools.tsv.
pool_value() { awk -F '\t' -v p="$1" -v c="$2" '$1 == p { print $c }' "$HERE/pools.tsv"; }
pools() { awk -F '\t' '!/^#/ { print $1 }' "$HERE/pools.tsv"; }
# servers POOL [UNIT]: names.
servers() { awk -F '\t' -v p="$1" -v u="${2:-}" '$2 == p && (u == "" || $3 == u) { print $1 }' "$HERE/hosts.tsv"; }
units() { awk -F '\t' -v p="$1" '$2 == p && !seen[$3]++ { print $3 }' "$HERE/hosts.tsv"; }
# ports POOL: names of the addressed ports of its first server.
ports() {
  awk -F '\t' -v p="$1" '$2 == p { n = split($5, a, ","); for (i = 1; i <= n; i++) { split(a[i], b, "="); print b[1] } exit }' "$HERE/hosts.tsv"
}
# manage HOST: where it is reached for the test's own connection.
manage() { awk -F '\t' -v h="$1" '$1 == h { print $4 }' "$HERE/hosts.tsv"; }
# targets FILE-OF-PAIRS: for each pair FROM TO and each addressed port of TO, "FROM TO PORT ADDRESS", in one look at the
# hosts.
targets() {
  awk -F '\t' 'NR == FNR { ports[$1] = $5; next }
    { split($0, p, " "); n = split(ports[p[2]], a, ","); for (i = 1; i <= n; i++) { split(a[i], b, "="); print p[1], p[2], b[1], b[2] } }' \
    "$HERE/hosts.tsv" "$1"
}
# named FILE-OF-NAMES: pairs of numbers on standard input become pairs of names.
named() { awk 'NR == FNR { name[NR] = $1; next } { print name[$1], name[$2] }' "$1" -; }
)sh";

constexpr std::string_view kPairs = R"sh(#!/bin/sh
# Round-robin pairs by the circle method: N things meet in N - 1 rounds (N odd: N rounds, one of them rests), each of them
# once a round, each pair exactly once.
# pairs.sh rounds N: how many rounds there are
# pairs.sh round R N: the pairs of round R (from 1), as "i j" with i and j from 1
set -eu
case "$1" in
rounds)
  if [ "$2" -lt 2 ]; then echo 0; elif [ $(($2 % 2)) -eq 0 ]; then echo $(($2 - 1)); else echo "$2"; fi
  ;;
round)
  awk -v r="$2" -v n="$3" 'BEGIN {
    m = n % 2 == 0 ? n : n + 1
    for (k = 0; k < m / 2 && r < m; k++) {
      a = k == 0 ? m : 1 + (r - 1 + k) % (m - 1)
      b = 1 + (r - 1 + m - 1 - k) % (m - 1)
      if (a <= n && b <= n) print (a < b ? a " " b : b " " a)
    }
  }'
  ;;
*)
  echo "usage: pairs.sh rounds N | pairs.sh round R N" >&2
  exit 2
  ;;
esac
)sh";

constexpr std::string_view kRun = R"sh(#!/bin/sh
# Runs every step in order and says at the end what passed. Results: one JSON line a measurement in $RESULTS.
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
    echo "run.sh: no step $step" >&2
    exit 2
  fi
  echo "== $step"
  sh "$script" || {
    bad=1
    echo "== $step did not pass"
  }
done
passed=$(grep -c '"pass":true' "$RESULTS" 2>/dev/null)
failed=$(grep -c '"pass":false' "$RESULTS" 2>/dev/null)
echo "${passed:-0} passed, ${failed:-0} failed; see $RESULTS"
exit $bad
)sh";

constexpr std::string_view kOob = R"sh(#!/bin/sh
# Every BMC answers over the out-of-band network. Run on a jump host. BMC_USER and IPMI_PASSWORD come from the secret
# store; nothing is kept here.
set -u
HERE=${HERE:-$(cd "$(dirname "$0")" && pwd)}
# shellcheck source=/dev/null
. "$HERE/lib.sh"
while IFS="$(printf '\t')" read -r name where protocol; do
  case "$name" in '#'*) continue ;; esac
  case "$protocol" in
  redfish)
    # The service root answers without a login (DMTF DSP0266, 13.3).
    code=$(curl --silent --max-time 10 ${BMC_CA:+--cacert "$BMC_CA"} --output /dev/null --write-out '%{http_code}' "https://$where/redfish/v1/" < /dev/null)
    equals oob "$name" "$code" "HTTP status" 200
    ;;
  ipmi)
    state=$(ipmitool -I lanplus -C 17 -H "$where" -U "${BMC_USER:?}" -E chassis power status 2>/dev/null < /dev/null)
    equals oob "$name" "$state" "" "Chassis Power is on"
    ;;
  ping)
    if ping -c 1 -W 2 "$where" > /dev/null 2>&1 < /dev/null; then got=answers; else got=silent; fi
    equals oob "$name" "$got" "" answers
    ;;
  esac
done < "$HERE/bmc.tsv"
exit "$FAILED"
)sh";

constexpr std::string_view kHosts = R"sh(#!/bin/sh
# Each server has what was bought: GPUs, and ports that are active at their speed.
set -u
HERE=${HERE:-$(cd "$(dirname "$0")" && pwd)}
# shellcheck source=/dev/null
. "$HERE/lib.sh"
for pool in $(pools); do
  gpus=$(pool_value "$pool" 3)
  devices="$(pool_value "$pool" 4),$(pool_value "$pool" 7)"
  backend=$(pool_value "$pool" 5)
  other=$(pool_value "$pool" 8)
  for host in $(servers "$pool"); do
    if [ "$gpus" -gt 0 ]; then
      equals hosts "$host GPUs" "$(on "$host" 'nvidia-smi -L | wc -l' | tr -d ' ')" GPUs "$gpus"
    fi
    for device in $(echo "$devices" | tr ',' ' '); do
      case "$device" in
      -) continue ;;
      mlx5_be*) speed=$backend ;;
      *) speed=$other ;;
      esac
      folder=/sys/class/infiniband/$device/ports/1
      rate=$(on "$host" "cat $folder/rate $folder/state" | awk '{ printf "%s%s", between, $1; between = " " }')
      equals hosts "$host $device" "$rate" "Gb/s, state" "$speed 4:"
    done
  done
done
exit "$FAILED"
)sh";

constexpr std::string_view kWiring = R"sh(#!/bin/sh
# Cables are where the plan has them: LLDP neighbours of every server (and a sweep of InfiniBand fabrics) against the
# cluster file, CLUSTER_FILE.
set -u
HERE=${HERE:-$(cd "$(dirname "$0")" && pwd)}
# shellcheck source=/dev/null
. "$HERE/env.sh"
# shellcheck source=/dev/null
. "$HERE/lib.sh"
seen=$(mktemp -d)
trap 'rm -rf "$seen"' EXIT
first=
for pool in $(pools); do
  for host in $(servers "$pool"); do
    [ -n "$first" ] || first=$host
    on "$host" 'lldpcli -f json show neighbors details' > "$seen/$host.lldp.json" || rm -f "$seen/$host.lldp.json"
  done
done
if [ "$INFINIBAND" = yes ]; then on "$first" ibnetdiscover > "$seen/fabric.ibnetdiscover"; fi
if weft check "${CLUSTER_FILE:?the cluster file}" --live "$seen" --fail-on error; then got=as-planned; else got=differs; fi
equals wiring cables "$got" "" as-planned
exit "$FAILED"
)sh";

constexpr std::string_view kPing = R"sh(#!/bin/sh
# Packets as large as the MTU pass on every port, unfragmented, and one fabric does not reach another. PING_ROUNDS limits
# the rounds; without it every pair of a unit is tried.
set -u
HERE=${HERE:-$(cd "$(dirname "$0")" && pwd)}
# shellcheck source=/dev/null
. "$HERE/env.sh"
# shellcheck source=/dev/null
. "$HERE/lib.sh"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# payload PORT: the bytes that fill a packet there, left in $size.
payload() {
  case "$1" in be*) size=$BACKEND_PAYLOAD ;; sto*) size=$STORAGE_PAYLOAD ;; *) size=$FRONTEND_PAYLOAD ;; esac
}
for pool in $(pools); do
  for unit in $(units "$pool"); do
    servers "$pool" "$unit" > "$out/servers"
    count=$(wc -l < "$out/servers")
    rounds=$(sh "$HERE/pairs.sh" rounds "$count")
    if [ "${PING_ROUNDS:-$rounds}" -lt "$rounds" ]; then rounds=$PING_ROUNDS; fi
    round=1
    while [ "$round" -le "$rounds" ]; do
      sh "$HERE/pairs.sh" round "$round" "$count" | named "$out/servers" > "$out/pairs"
      targets "$out/pairs" > "$out/targets"
      while read -r from to port where; do
        payload "$port"
        if on "$from" "ping -M do -s $size -c 2 -i 0.2 -W 2 -I $port $where" > /dev/null 2>&1 < /dev/null; then
          got=passes
        else
          got=lost
        fi
        equals ping "$from to $to on $port" "$got" "" passes
      done < "$out/targets"
      round=$((round + 1))
    done
  done
  # From the first port of each kind to an address of every other fabric: nothing may answer.
  host=$(servers "$pool" | head -n 1)
  for port in $(ports "$pool"); do
    case "$port" in be1 | be1a | sto1 | fe1 | bond-fe) ;; *) continue ;; esac
    for other in $FOREIGN; do
      case "$port:$other" in be*:backend=* | sto*:storage=* | fe*:frontend=* | bond-fe:frontend=*) continue ;; esac
      if on "$host" "ping -c 2 -i 0.2 -W 1 -I $port ${other#*=}" > /dev/null 2>&1 < /dev/null; then got=reached; else got=apart; fi
      equals isolation "$host $port to ${other%%=*}" "$got" "" apart
    done
  done
done
exit "$FAILED"
)sh";

constexpr std::string_view kGpu = R"sh(#!/bin/sh
# Diagnostics of every GPU (dcgmi diag, level 3: memory, PCIe, NVLink, stress), 64 servers at a time: a cluster that heats
# up at once is a test of the cooling, not of the GPUs.
set -u
HERE=${HERE:-$(cd "$(dirname "$0")" && pwd)}
# shellcheck source=/dev/null
. "$HERE/lib.sh"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
diagnose() {
  if on "$1" "dcgmi diag -r ${DIAG_LEVEL:-3}" > "$out/$1.log" 2>&1; then echo pass; else echo fail; fi > "$out/$1.result"
}
for pool in $(pools); do
  [ "$(pool_value "$pool" 3)" -gt 0 ] || continue
  started=0
  for host in $(servers "$pool"); do
    diagnose "$host" &
    started=$((started + 1))
    [ $((started % 64)) -ne 0 ] || wait
  done
  wait
  for host in $(servers "$pool"); do
    equals gpu "$host" "$(cat "$out/$host.result")" "dcgmi diag" pass
  done
done
exit "$FAILED"
)sh";

constexpr std::string_view kRdma = R"sh(#!/bin/sh
# ib_write_bw between servers on every rail, with the traffic class and GID index that jobs use. First all pairs of a unit
# (below one leaf), round by round; then units against each other (across spines). In a round each server is in one pair,
# and all pairs run at once, so that the fabric carries what it was designed for.
# RDMA_ROUNDS limits the rounds of each part; POOLS names the pools (all with a backend).
set -u
HERE=${HERE:-$(cd "$(dirname "$0")" && pwd)}
# shellcheck source=/dev/null
. "$HERE/env.sh"
# shellcheck source=/dev/null
. "$HERE/lib.sh"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# pair FROM TO POOL: every rail at once, each on a port of its own.
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
    # The result line: bytes, iterations, peak, average, messages a second.
    on "$1" "ib_write_bw $flags $(manage "$2")" 2>/dev/null < /dev/null |
      awk 'NF == 5 && $1 ~ /^[0-9]+$/ { b = $4 } END { print b }' > "$out/$1.$2.$device" &
    listen=$((listen + 1))
  done
  wait
}

# run_round NAME POOL FILE: the file holds "from to" lines.
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

# within POOL: all units at once, round by round.
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

# dropped POOL: nothing may have been dropped in the lossless class while all that ran.
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
)sh";

constexpr std::string_view kStorage = R"sh(#!/bin/sh
# fio against each storage system: one server alone, then all servers at once, against what the design promises.
# FIO_ROOT: where the systems are mounted; each has a folder with its name there.
set -u
HERE=${HERE:-$(cd "$(dirname "$0")" && pwd)}
# shellcheck source=/dev/null
. "$HERE/env.sh"
# shellcheck source=/dev/null
. "$HERE/lib.sh"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# measure HOST SYSTEM read|write: bytes a second (fio's terse output, version 3: fields 7 and 48 are KiB/s).
measure() {
  if [ "$3" = read ]; then field=7; else field=48; fi
  on "$1" "FIO_DIR=${FIO_ROOT:-/mnt}/$2/acceptance fio --output-format=terse --terse-version=3 --section=$3 ${FIO_FILES:-/opt/weft/acceptance/fio}/$2.fio" < /dev/null |
    awk -F ';' -v f="$field" '$1 == 3 { n += $f * 1024; seen = 1 } END { if (seen) printf "%.0f\n", n }'
}
clients=$(for pool in $FIO_CLIENTS; do servers "$pool"; done)
alone=$(echo "$clients" | head -n 1)
while IFS="$(printf '\t')" read -r system node_read node_write all_read all_write; do
  case "$system" in '#'*) continue ;; esac
  [ -n "$alone" ] || continue
  # Written first: what is read afterwards exists.
  for kind in write read; do
    if [ $kind = read ]; then node=$node_read all=$all_read; else node=$node_write all=$all_write; fi
    at_least storage "$system $kind from $alone alone" "$(measure "$alone" "$system" $kind)" B/s "$node"
    for host in $clients; do measure "$host" "$system" $kind > "$out/$host" & done
    wait
    sum=$(for host in $clients; do cat "$out/$host"; done | awk '{ n += $1 } END { printf "%.0f\n", n }')
    at_least storage "$system $kind from all servers" "$sum" B/s "$all"
  done
done < "$HERE/storage.tsv"
exit "$FAILED"
)sh";

constexpr std::string_view kNccl = R"sh(#!/bin/sh
# nccl-tests: collectives in one server and over all servers of a pool, through Slurm where it owns the GPUs, else mpirun.
# Bus bandwidth is what nccl-tests prints, which compares with the bottleneck link (nccl-tests, doc/PERFORMANCE.md).
set -u
HERE=${HERE:-$(cd "$(dirname "$0")" && pwd)}
# shellcheck source=/dev/null
. "$HERE/lib.sh"
# bandwidth: GB/s of the largest size in the output (size count type redop root time algbw busbw ...).
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
)sh";

}  // namespace

const std::vector<Script>& scripts() {
  static const std::vector<Script> kScripts = {
      {"lib.sh", kLibrary}, {"pairs.sh", kPairs},     {"run.sh", kRun},   {"oob.sh", kOob},
      {"hosts.sh", kHosts}, {"wiring.sh", kWiring},   {"ping.sh", kPing}, {"gpu.sh", kGpu},
      {"rdma.sh", kRdma},   {"storage.sh", kStorage}, {"nccl.sh", kNccl},
  };
  return kScripts;
}

}  // namespace weft::render::acceptance
