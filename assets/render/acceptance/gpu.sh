#!/bin/sh
# Diagnostics of every GPU (dcgmi diag, level 3: memory, PCIe, NVLink, stress), 64 servers at a time: all servers at once
# would test the cooling, not the GPUs.
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
