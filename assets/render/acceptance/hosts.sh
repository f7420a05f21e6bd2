#!/bin/sh
# Checks the number of GPUs of each server, and that its ports are active at their designed speed.
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
