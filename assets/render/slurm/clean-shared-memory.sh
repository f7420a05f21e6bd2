# Removes the user's files in shared memory, unless another job of the user is running on this node.
set -u
user=${SLURM_JOB_UID:?}
shm=${WEFT_SHM:-/dev/shm}
[ "$user" -ge 1000 ] || exit 0
others=$(squeue --noheader --states=running,completing --format=%A --user="$user" \
  --nodelist="${SLURMD_NODENAME:?}" 2>/dev/null | grep -cvx "${SLURM_JOB_ID:?}")
[ "$others" -eq 0 ] || exit 0
find "$shm" -xdev -mindepth 1 -user "$user" -delete
exit 0
