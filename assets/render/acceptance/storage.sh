#!/bin/sh
# fio against each storage system: one server alone, then all servers concurrently, compared with the design targets.
# FIO_ROOT: parent directory of the mount points, which have the names of the storage systems.
set -u
HERE=${HERE:-$(cd "$(dirname "$0")" && pwd)}
# shellcheck source=/dev/null
. "$HERE/env.sh"
# shellcheck source=/dev/null
. "$HERE/lib.sh"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# measure HOST SYSTEM read|write: bytes per second (fio's terse output, version 3: fields 7 and 48 are KiB/s).
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
  # Write first, so that there are files to read.
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
