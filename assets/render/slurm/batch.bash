# The first node is the rendezvous of the ranks. If it fails, Slurm requeues the whole job.
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
port=$((@PORT@ + SLURM_JOB_ID % 1000))
@MOUNT_CHECKS@

# Time limit or preemption: send SIGTERM to the ranks so that they write a checkpoint, then requeue the job.
interrupted=
# shellcheck disable=SC2317
on_interrupt() {
  interrupted=yes
  scancel --signal=TERM "$SLURM_JOB_ID"
}
trap on_interrupt USR1

@LAUNCH@
step=$!
wait "$step"
status=$?
if [ -n "$interrupted" ]; then
  for _ in $(seq @GRACE@); do
    kill -0 "$step" 2>/dev/null || break
    sleep 1
  done
  scontrol requeue "$SLURM_JOB_ID"
  exit 0
fi
exit "$status"
