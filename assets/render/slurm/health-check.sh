# Drains this node if a check fails; the exit status is then 1.
set -u
gpus=0
rails=''
vendor=''
facts=${WEFT_FACTS:-/etc/slurm/node.facts}
# shellcheck source=/dev/null
if [ -r "$facts" ]; then . "$facts"; fi
sys=${WEFT_SYS:-/sys}

fail() {
  echo "$1" >&2
  scontrol update nodename="${SLURMD_NODENAME:-$(hostname -s)}" state=drain reason="health: $1"
  exit 1
}

case $vendor in
  nvidia)
    seen=$(nvidia-smi --query-gpu=index --format=csv,noheader 2>/dev/null | wc -l)
    [ "$seen" -eq "$gpus" ] || fail "$seen of $gpus GPUs found"
    # Uncorrected errors since the driver was loaded: results computed since then may be corrupt.
    bad=$(nvidia-smi --query-gpu=index,ecc.errors.uncorrected.volatile.total --format=csv,noheader,nounits 2>/dev/null |
      awk -F', *' '$2 ~ /^[0-9]+$/ && $2 > 0 { printf "%s%s", sep, $1; sep = "," }')
    [ -z "$bad" ] || fail "uncorrected ECC errors on GPU $bad"
    ;;
  amd)
    seen=$(find "$sys/class/drm" -maxdepth 1 -name 'renderD*' 2>/dev/null | wc -l)
    [ "$seen" -ge "$gpus" ] || fail "$seen of $gpus GPUs found"
    ;;
esac

for rail in $rails; do
  state=$(cat "$sys/class/net/$rail/operstate" 2>/dev/null || echo missing)
  [ "$state" = up ] || fail "$rail is $state"
done
exit 0
