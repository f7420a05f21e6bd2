#!/bin/sh
# Epilog of Slurm on a node where jobs have a Kubernetes namespace: the next job does not get the GPUs of this one before
# no process, of a container or not, has them open. If one still has after WEFT_EPILOG_SECONDS, or if that cannot be found
# out, the Epilog fails, and Slurm drains the node. Install it as /etc/slurm/epilog.d/90-namespace. WEFT_DEVICE is the path
# of a GPU's device file without its number.
set -u
device=${WEFT_DEVICE:-/dev/nvidia}
limit=${WEFT_EPILOG_SECONDS:-120}
[ -n "${SLURM_JOB_GPUS:-}" ] || exit 0
set --
rest=$SLURM_JOB_GPUS,
while [ -n "$rest" ]; do
  set -- "$@" --device "$device${rest%%,*}"
  rest=${rest#*,}
done
waited=0
while :; do
  status=0
  holders=$(weft gate holders "$@") || status=$?
  if [ "$status" -eq 0 ]; then exit 0; fi
  if [ "$status" -ne 1 ]; then
    echo "job $SLURM_JOB_ID has ended; whether its GPUs are free is not known" >&2
    exit 1
  fi
  if [ "$waited" -ge "$limit" ]; then
    echo "job $SLURM_JOB_ID has ended, but its GPUs are in use: $holders" >&2
    exit 1
  fi
  waited=$((waited + 1))
  sleep 1
done
