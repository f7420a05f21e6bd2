#!/bin/sh
# Checks that packets of the full MTU pass unfragmented on every port, and that fabrics are isolated. PING_ROUNDS limits
# the rounds (default: every pair of a unit).
set -u
HERE=${HERE:-$(cd "$(dirname "$0")" && pwd)}
# shellcheck source=/dev/null
. "$HERE/env.sh"
# shellcheck source=/dev/null
. "$HERE/lib.sh"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# payload PORT: sets $size to the payload in bytes that fills the MTU of the port.
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
  # From the first port of each kind to an address of every other fabric: no response is allowed.
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
