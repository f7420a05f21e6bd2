# Writes the GPU of this pod and the rail address of each global rank. Fails if a rail has no address, before a
# collective runs into its timeout.
set -eu
out=${WEFT_RANKS:-/etc/weft/ranks}
case $WEFT_INDEX in '' | *[!0-9]*) echo "WEFT_INDEX is not a pod index: '$WEFT_INDEX'" >&2; exit 1 ;; esac

# address_of INTERFACE: its IPv4 address, with iproute2 or, if the image lacks it, with Python
address_of() {
  if command -v ip >/dev/null 2>&1; then
    ip -o -4 addr show dev "$1" 2>/dev/null | sed -n 's/^.* inet \([0-9.]*\).*$/\1/p' | head -n 1
  else
    python3 -c '
import fcntl, socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try:
    r = fcntl.ioctl(s.fileno(), 0x8915, struct.pack("256s", sys.argv[1].encode()[:15]))  # SIOCGIFADDR
    print(socket.inet_ntoa(r[20:24]))
except OSError:
    pass
' "$1"
  fi
}

need() {
  address=$(address_of "$1")
  if [ -z "$address" ]; then
    echo "$1 has no IPv4 address" >&2
    exit 1
  fi
}

for interface in $WEFT_STORAGE; do need "$interface"; done

# shellcheck disable=SC2086  # a list
set -- $WEFT_RAILS
rails=$#
echo "# rank pod local_rank interface address" >"$out.new"
local_rank=0
while [ "$local_rank" -lt "$WEFT_GPUS" ]; do
  # GPUs are assigned to rails in order: with as many rails as GPUs, one GPU per rail.
  turn=$((local_rank * rails / WEFT_SERVER_GPUS))
  interface=$(printf '%s\n' "$@" | sed -n "$((turn + 1))p")
  need "$interface"
  echo "$((WEFT_INDEX * WEFT_GPUS + local_rank)) $WEFT_POD $local_rank $interface $address" >>"$out.new"
  local_rank=$((local_rank + 1))
done
mv "$out.new" "$out"
cat "$out"
