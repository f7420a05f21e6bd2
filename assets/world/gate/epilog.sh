#!/bin/sh
# Epilog of Slurm on a node that two engines share: the job has left the node. Install it as
# /etc/slurm/epilog.d/95-lease, after everything else.
exec weft gate leave --owner slurm --entry "${SLURM_JOB_ID:?}"
