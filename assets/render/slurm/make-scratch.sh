# Creates the job's scratch directory on local drives, for data that is read more than once.
set -u
scratch=${WEFT_SCRATCH_ROOT:-/scratch/jobs}
[ -d "$scratch" ] || exit 0
install -d -m 0700 -o "${SLURM_JOB_UID:?}" "$scratch/${SLURM_JOB_ID:?}"
