#
# weft-rdma-name DEVICE: looks up the PCI function of /sys/class/infiniband/DEVICE in the table of weft-name-nics. A
# virtual function is named after its port and its number. Fails, which keeps the name, if the function is not found.
set -eu
sys=${WEFT_SYS:-/sys}
known=${WEFT_NICS:-/etc/weft/nics.tsv}
device=$sys/class/infiniband/$1/device
number=
if [ -e "$device/physfn" ]; then
  own=$(basename "$(readlink -f "$device")")
  for function in "$device"/physfn/virtfn*; do
    if [ "$(basename "$(readlink -f "$function")")" = "$own" ]; then
      number=v${function##*virtfn}
    fi
  done
  [ -n "$number" ]
  device=$device/physfn
fi
pci=$(basename "$(readlink -f "$device")")
interface=$(awk -F '\t' -v pci="$pci" '$3 == pci { print $1; exit }' "$known")
[ -n "$interface" ]
echo "mlx5_$interface$number"
