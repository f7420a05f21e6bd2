# A node that fails this check is drained and the job is requeued.
exec /etc/slurm/health-check
