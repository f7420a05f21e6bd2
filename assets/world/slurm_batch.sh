#!/bin/sh
# Batch job of one attempt: srun starts one task per slot, in rank order, with the task script of weft. The comment of
# the job names the attempt; the exit status is the greatest of its tasks.
set -u
umask 022
unset LC_ALL
nodes=@NODES@
order=--distribution=block
if [ "$nodes" -gt 1 ]; then
  hosts=$(mktemp) || exit 71
  trap 'rm -f "$hosts"' EXIT
  # Node of each rank. srun reads it for --distribution=arbitrary.
  cat >"$hosts" <<'HOSTS' || exit 71
@HOSTS@
HOSTS
  export SLURM_HOSTFILE="$hosts"
  order=--distribution=arbitrary
fi
# All CPUs of the job: those of the node with the fewest, as in "64(x3),32", in equal parts.
fewest=
rest=${SLURM_JOB_CPUS_PER_NODE:-1},
while [ -n "$rest" ]; do
  cpus=${rest%%,*}
  cpus=${cpus%%\(*}
  rest=${rest#*,}
  if [ -z "$fewest" ] || [ "$cpus" -lt "$fewest" ]; then fewest=$cpus; fi
done
cpus=$((fewest / @TASKS_PER_NODE@))
if [ "$cpus" -ge 1 ]; then share=--cpus-per-task=$cpus; else share=--overcommit; fi
code=0
srun --nodes="$nodes" --ntasks=@TASKS@ "$share" "$order" --kill-on-bad-exit=1 --open-mode=append \
  --input=none --output=@OUTPUT@ env @VARIABLES@ /bin/sh -c @TASK@ weft-task @ARGUMENTS@ || code=$?
# For weft, if it does not run until Slurm has forgotten the job.
if [ -w @END@ ]; then echo "$code" >@END@; fi
exit "$code"
