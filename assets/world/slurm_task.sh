# One task of an attempt, started by srun: adds the variables of its rank and becomes the program. Uses no other
# programs, because PATH is the submitter's. Arguments: directory, GPUs per task, program and its arguments.
directory=$1
gpus=$2
shift 2
unset SLURM_HOSTFILE
node_rank=0
rest=$WEFT_NODELIST,
while [ "${rest%%,*}" != "$SLURMD_NODENAME" ]; do
  rest=${rest#*,}
  node_rank=$((node_rank + 1))
  if [ -z "$rest" ]; then
    echo "weft: $SLURMD_NODENAME is not one of the nodes of this attempt" >&2
    exit 71
  fi
done
export WEFT_NODE="$SLURMD_NODENAME" NODE_RANK="$node_rank" GROUP_RANK="$node_rank"
export RANK="$SLURM_PROCID" LOCAL_RANK="$SLURM_LOCALID"
# Slurm chooses the GPUs of the job on a node; its tasks there share them in order.
rest=${CUDA_VISIBLE_DEVICES:+$CUDA_VISIBLE_DEVICES,}
CUDA_VISIBLE_DEVICES=
index=0
given=0
while [ -n "$rest" ] && [ "$given" -lt "$gpus" ]; do
  if [ "$index" -ge "$((LOCAL_RANK * gpus))" ]; then
    CUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES${CUDA_VISIBLE_DEVICES:+,}${rest%%,*}
    given=$((given + 1))
  fi
  rest=${rest#*,}
  index=$((index + 1))
done
if [ "$given" -ne "$gpus" ]; then
  echo "weft: rank $RANK on $WEFT_NODE has $given GPUs instead of $gpus" >&2
  exit 71
fi
export CUDA_VISIBLE_DEVICES
cd -- "$directory" || exit 71
exec "$@"
