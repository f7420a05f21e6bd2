# A node that fails here is drained and the job goes back into the queue.
exec /etc/slurm/health-check
