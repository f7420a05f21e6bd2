# One task of an attempt, started by srun: adds the variables of its rank and becomes the program, in a container if the
# job has an image. Uses no other programs but apptainer, because PATH is the submitter's. Arguments: directory, GPUs per
# task, log of the batch job, image, paths to bind into the container (comma-separated), program and its arguments.
directory=$1
gpus=$2
log=$3
image=$4
binds=$5
shift 5
unset SLURM_HOSTFILE
# refuse REASON: in the output of the task, and where weft finds the reason why the job failed.
refuse() {
  echo "weft: rank $SLURM_PROCID on $SLURMD_NODENAME: $1" >&2
  if [ -w "$log" ]; then echo "weft: rank $SLURM_PROCID on $SLURMD_NODENAME: $1" >>"$log"; fi
  exit 71
}
node_rank=0
rest=$WEFT_NODELIST,
while [ "${rest%%,*}" != "$SLURMD_NODENAME" ]; do
  rest=${rest#*,}
  node_rank=$((node_rank + 1))
  if [ -z "$rest" ]; then refuse "not one of the nodes of this attempt"; fi
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
if [ "$given" -ne "$gpus" ]; then refuse "Slurm gave it $given GPUs instead of $gpus"; fi
export CUDA_VISIBLE_DEVICES
cd -- "$directory" || refuse "the directory $directory cannot be entered"
if [ -z "$image" ]; then exec "$@"; fi

# Never on the host instead: the program was made for the image.
apptainer=$(command -v apptainer) || apptainer=
for place in /usr/local/bin /usr/bin /opt/apptainer/bin; do
  if [ -z "$apptainer" ] && [ -x "$place/apptainer" ]; then apptainer=$place/apptainer; fi
done
if [ -z "$apptainer" ]; then refuse "apptainer is not installed, and the job has the image $image"; fi
case $image in
*://*) ;;
*) if [ ! -e "$image" ]; then refuse "the image $image does not exist"; fi ;;
esac
rest=${binds:+$binds,}
while [ -n "$rest" ]; do
  path=${rest%%,*}
  rest=${rest#*,}
  if [ ! -e "$path" ]; then refuse "$path does not exist, and the container needs it"; fi
done
# The environment is passed on, with the variables above. It becomes apptainer, so signals and the exit status are those of
# the program.
set -- "$image" "$@"
if [ -n "$binds" ]; then set -- --bind "$binds" "$@"; fi
if [ "$gpus" -gt 0 ]; then set -- --nv "$@"; fi
exec "$apptainer" exec --pwd "$directory" "$@"
