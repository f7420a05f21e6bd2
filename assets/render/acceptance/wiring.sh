#!/bin/sh
# Checks the cabling: LLDP neighbors of every server (and a sweep of InfiniBand fabrics) against the
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
if weft check "${CLUSTER_FILE:?set it to the path of the cluster file}" --live "$seen" --fail-on error; then got=as-planned; else got=differs; fi
equals wiring cables "$got" "" as-planned
exit "$FAILED"
