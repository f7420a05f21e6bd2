# Removes the job's scratch directory on local drives.
set -u
scratch=${WEFT_SCRATCH_ROOT:-/scratch/jobs}
case ${SLURM_JOB_ID:?} in *[!0-9]*) exit 1 ;; esac
rm -rf --one-file-system "${scratch:?}/$SLURM_JOB_ID"
